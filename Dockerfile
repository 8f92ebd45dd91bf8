# The command line in a container, from a wheel that `make package` built: docker build -t densdiff .
#   docker run --rm --network none -v "$PWD:/data:ro" densdiff compare before.csv after.csv
FROM python:3.13-slim

# /data is where the caller's tables are; outputs need a folder that this user may write to
RUN useradd --create-home --uid 10001 densdiff
COPY dist/densdiff-*.whl /tmp/
RUN wheel="$(echo /tmp/densdiff-*.whl)" && pip install --no-cache-dir "${wheel}[cli,plot]" && rm /tmp/densdiff-*.whl
USER densdiff
WORKDIR /data
ENTRYPOINT ["densdiff"]
CMD ["--help"]
