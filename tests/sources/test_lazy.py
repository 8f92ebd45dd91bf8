"""Lazy tables give the answer of their rows, whatever library they come from and whether they fit into memory."""

import decimal
import gc
import os
import pickle
import tempfile

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.data.table import table_of
from densdiff.io import memory
from densdiff.sources.batches import reblocked
from densdiff.sources.blocks import BlockSource
from densdiff.sources.lazy import LazyTable, stream_of
from densdiff.sources.opening import source_of
from densdiff.sources.source import ArraySource
from densdiff.sources.spool import Spool, open_stream
from tests.lazy_forms import LAZY_FORMS, dataset_of, duckdb_of
