"""Traps: models in which rows meet although shapes look as if they stayed apart, or stay apart although it looks as if
they met. No run contradicts what is claimed of any value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import absint
from tests.absint.analyses.test_rows import OTHERS, model
from tests.soundness.row_runs import Tally, hunted

MEET = {
    "reshape 0 copies wrong axis after transpose": """
        net (float[n, t, 4] x) => (float[a,b,4] y) { p = Transpose<perm=[1,0,2]>(x) s =
        Constant<value_ints=[0,-1,4]>() q=Reshape(p,s) u = Transpose<perm=[1,0,2]>(q) y = Softmax<axis=0>(u) }""",
    "reshape 6 to 4 uneven": """
        net (float[n, 6] x) => (float[a,b] y) { s=Constant<value_ints=[3,-1]>() y=Reshape(x,s) }""",
    "slice reversed rows": """
        net (float[n, d] x) => (float[n, d] y) { a=Constant<value_ints=[-1]>()
        e=Constant<value_ints=[-9223372036854775807]>() x0=Constant<value_ints=[0]>() m=Constant<value_ints=[-1]>()
        y=Slice(x,a,e,x0,m) }""",
    "slice every second row": """
        net (float[n, d] x) => (float[m, d] y) { a=Constant<value_ints=[0]>()
        e=Constant<value_ints=[9223372036854775807]>() x0=Constant<value_ints=[0]>() m=Constant<value_ints=[2]>()
        y=Slice(x,a,e,x0,m) }""",
    "slice shifted rows plus x": """
        net (float[n, d] x) => (float[n, d] y) { a=Constant<value_ints=[1]>()
        e=Constant<value_ints=[9223372036854775807]>() x0=Constant<value_ints=[0]>() z=Constant<value_ints=[0]>()
        o=Constant<value_ints=[1]>() r=Slice(x,a,e,x0) f=Slice(x,z,o,x0) y=Concat<axis=0>(r,f) }""",
    "slice from -1 on the rows axis": """
        net (float[n, d] x) => (float[m, d] y) { a=Constant<value_ints=[-1]>()
        e=Constant<value_ints=[9223372036854775807]>() x0=Constant<value_ints=[0]>() l=Slice(x,a,e,x0) y=Add(x,l) }""",
    "first row broadcast": """
        net (float[n, d] x) => (float[n, d] y) { z=Constant<value_int=0>() f=Gather<axis=0>(x,z) y=Sub(x,f) }""",
    "gather reversed row numbers": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) l=Sub(n1,o) i=Sub(l,r) y=Gather<axis=0>(x,i) }""",
    "gather row numbers minus one": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) i=Sub(r,o) y=Gather<axis=0>(x,i) }""",
    "gather row numbers plus n (negative)": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) i=Sub(r,n1) y=Gather<axis=0>(x,i) }""",
    "gather twice the row number on doubled": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        two=Constant<value_int=2>() n1=Gather(s,z) r=Range(z,n1,o) i=Mul(r,two) c=Concat<axis=0>(x,x)
        y=Gather<axis=0>(c,i) }""",
    "range step two then gather interleaved": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        two=Constant<value_int=2>() n1=Gather(s,z) r=Range(z,n1,o) i=Mul(r,two) x1=Constant<value_ints=[1]>()
        u=Unsqueeze(x,x1) c=Concat<axis=1>(u,u) f=Constant<value_ints=[-1,4]>() g=Reshape(c,f) y=Gather<axis=0>(g,i)
        }""",
    "gather mod of row number": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        two=Constant<value_int=2>() n1=Gather(s,z) r=Range(z,n1,o) i=Mod(r,two) y=Gather<axis=0>(x,i) }""",
    "gather min of row number and 1": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) i=Min(r,o) y=Gather<axis=0>(x,i) }""",
    "gather max of row number and 0": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) i=Max(r,z) y=Gather<axis=0>(x,i) }""",
    "where by position chooses neighbour": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) c=Less(r,o) j=Sub(r,o) i=Where(c,r,j) y=Gather<axis=0>(x,i) }""",
    "layernorm over batch": """
        net (float[n, 4] x) => (float[4, n] y) <float[1] w={1}> { p=Transpose<perm=[1,0]>(x)
        y=LayerNormalization<axis=1>(p,w) }""",
    "layernorm axis 0": """
        net (float[n, 4] x) => (float[n, 4] y) <float[4] w={1,2,3,4}> { y=LayerNormalization<axis=0>(x,w) }""",
    "groupnorm over transposed batch": """
        net (float[n, 4, 3] x) => (float[4, n, 3] y) { p=Transpose<perm=[1,0,2]>(x) y=LpNormalization<axis=1>(p) }""",
    "dynamic quantize": """
        net (float[n, d] x) => (uint8[n, d] y, float s, uint8 z) { y,s,z=DynamicQuantizeLinear(x) }""",
    "dynamic quantize and back": """
        net (float[n, d] x) => (float[n, d] y) { q,s,z=DynamicQuantizeLinear(x) y=DequantizeLinear(q,s,z) }""",
    "cumsum over rows exclusive reverse": """
        net (float[n, d] x) => (float[n, d] y) { z=Constant<value_int=-2>() y=CumSum<exclusive=1,reverse=1>(x,z) }""",
    "einsum diagonal": """
        net (float[n, n2, d] x, float[n, d] v) => (float[n, d] y) { y=Einsum<equation="iij->ij">(x) }""",
    "einsum square": """net (float[n, d] x) => (float[n, n] y) { y=Einsum<equation="id,jd->ij">(x,x) }""",
    "einsum square diagonal": """
        net (float[n, d] x) => (float[n] y) { s=Einsum<equation="id,jd->ij">(x,x) y=Einsum<equation="ii->i">(s) }""",
    "einsum of rows summed": """net (float[n, d] x) => (float[n, d] y) { y=Einsum<equation="ab,ac->bc">(x,x) }""",
    "einsum implicit repeated": """net (float[n, d] x) => (float[a] y) { y=Einsum<equation="ab,ac">(x,x) }""",
    "matmul rows by rows": """net (float[n, d] x) => (float[n, n] y) { p=Transpose(x) y=MatMul(x,p) }""",
    "matmul batch broadcast of first": """
        net (float[n, t, t] x) => (float[n, t, t] y) { z=Constant<value_ints=[0]>() f=Gather<axis=0>(x,z)
        y=MatMul(x,f) }""",
    "matmul rows as inner": """net (float[n, d] x) => (float[d, d] y) { p=Transpose(x) y=MatMul(p,x) }""",
    "matmul vector of rows": """net (float[n, d] x, float[n] v) => (float[d] y) { y=MatMul(v,x) }""",
    "gemm transA": """net (float[n, d] x) => (float[d, d] y) { y=Gemm<transA=1>(x,x) }""",
    "gemm bias of rows on columns": """
        net (float[n, 3] x, float[3, 3] w, float[n] b) => (float[n, 3] y) { y=Gemm(x,w,b) }""",
    "add row vector as column": """net (float[n, d] x, float[n] v) => (float[n, d] y) { y=Add(x,v) }""",
    "add v and its unsqueeze": """
        net (float[n] x) => (float[n, n] y) { o=Constant<value_ints=[1]>() u=Unsqueeze(x,o) y=Add(u,x) }""",
    "broadcast 1xn": """
        net (float[n, d] x) => (float[1, n] y) { a=Constant<value_ints=[1]>() s=ReduceSum<keepdims=0>(x,a)
        z=Constant<value_ints=[0]>() u=Unsqueeze(s,z) v=Transpose(u) q=Sub(u,v) y=ReduceMax<keepdims=1>(q,z) }""",
    "topk over rows": """
        net (float[n, d] x) => (float[1, d] y, int64[1, d] i) { k=Constant<value_ints=[1]>() y,i=TopK<axis=0>(x,k) }""",
    "sort over rows and back": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_ints=[0]>() k=Gather(s,z)
        v,i=TopK<axis=0>(x,k) y=GatherElements<axis=0>(v,i) }""",
    "argmax over rows then gather": """
        net (float[n, d] x) => (float[d, d] y) { i=ArgMax<axis=0,keepdims=0>(x) y=Gather<axis=0>(x,i) }""",
    "argmax of own row as row number": """
        net (float[n, d] x) => (float[n, d] y) { i=ArgMax<axis=1,keepdims=0>(x) z=Constant<value_int=0>() m=Mul(i,z)
        y=Gather<axis=0>(x,m) }""",
    "ids select rows": """net (float[n, d] x, int64[n] ids) => (float[n, d] y) { y=Gather<axis=0>(x,ids) }""",
    "scatter by ids": """net (float[n, d] x, int64[n, 1] ids) => (float[n, d] y) { y=ScatterND(x,ids,x) }""",
    "scatter add along rows": """
        net (float[n, d] x, int64[n, d] ids) => (float[n, d] y) { y=ScatterElements<axis=0,reduction="add">(x,ids,x)
        }""",
    "nonzero": """net (float[n, d] x) => (int64[2, q] y) { r=Relu(x) y=NonZero(r) }""",
    "nonzero pick back": """
        net (float[n, d] x) => (float[q] y) { b=Relu(x) i=NonZero(b) p=Transpose(i) y=GatherND(x,p) }""",
    "compress rows": """net (float[n, d] x, bool[n] m) => (float[q, d] y) { y=Compress<axis=0>(x,m) }""",
    "compress flat": """net (float[n, d] x, bool[n] m) => (float[q] y) { y=Compress(x,m) }""",
    "unique of rows": """
        net (float[n] x) => (float[q] y, int64[n] i, int64[n] j, int64[q] c) { y,f,j,c=Unique<sorted=1>(x)
        i=Identity(j) }""",
    "random like": """net (float[n, d] x) => (float[n, d] y) { r=RandomNormalLike(x) y=Add(x,r) }""",
    "pad rows": """net (float[n, d] x) => (float[m, d] y) { p=Constant<value_ints=[1,0,0,0]>() y=Pad(x,p) }""",
    "pad rows wrap and cut": """
        net (float[n, d] x) => (float[n, d] y) { p=Constant<value_ints=[1,0,-1,0]>() y=Pad<mode="edge">(x,p) }""",
    "conv over rows": """
        net (float[n, 1, 3] x) => (float[1, 1, n] y) { p=Transpose<perm=[2,1,0]>(x) z=Constant<value_ints=[3,1,1]>()
        w=Constant<value_floats=[1.0,2.0,3.0]>() s=Constant<value_ints=[1,1,3]>() k=Reshape(w,s)
        y=Conv<pads=[1,1]>(p,k) }""",
    "maxpool over rows": """
        net (float[n, 3] x) => (float[3, 1, n] y) { p=Transpose(x) a=Constant<value_ints=[1]>() u=Unsqueeze(p,a)
        y=MaxPool<kernel_shape=[3],pads=[1,1]>(u) }""",
    "reduce all": """net (float[n, d] x) => (float[n, d] y) { m=ReduceMean(x) y=Sub(x,m) }""",
    "reduce negative axis rows": """
        net (float[t, n] x, float[n, d] w) => (float[t] y) { a=Constant<value_ints=[-1]>()
        y=ReduceSum<keepdims=0>(x,a) }""",
    "if on any row": """
        net (float[n, d] x) => (float[n, d] y) { m=ReduceMax<keepdims=0>(x) z=Constant<value_float=0.5>()
        c=Greater(m,z) y=If<then_branch=a () => (float[n,d] p){p=Neg(x)}, else_branch=b () => (float[n,d]
        q){q=Abs(x)}>(c) }""",
    "scan over rows carries": """
        net (float[n, d] x, float[d] h) => (float[d] hh, float[n, d] y) { hh,y=Scan<num_scan_inputs=1,body=b
        (float[d] s, float[d] p)=>(float[d] q, float[d] o){q=Add(s,p) o=Identity(q)}>(h,x) }""",
    "scan rows carry max": """
        net (float[n, d] x, float[d] h) => (float[d] hh) { hh=Scan<num_scan_inputs=1,body=b (float[d] s, float[d]
        p)=>(float[d] q){q=Max(s,p)}>(h,x) }""",
    "sequence of rows reversed": """
        net (float[n, d] x) => (float[n, d] y) { q=SplitToSequence<axis=0>(x) m=Constant<value_int=-1>()
        l=SequenceAt(q,m) y=Add(x,l) }""",
    "sequence split and concat": """
        net (float[n, d] x) => (float[n, d] y) { q=SplitToSequence<axis=0>(x) y=ConcatFromSequence<axis=0>(q) }""",
    "expand n to nn": """
        net (float[n, 1] x) => (float[n, n] y) { s=Shape(x) z=Constant<value_ints=[0]>() n1=Gather(s,z)
        t=Concat<axis=0>(n1,n1) e=Expand(x,t) y=Softmax<axis=0>(e) }""",
    "tile rows then reshape": """
        net (float[n, 2] x) => (float[n, 4] y) { r=Constant<value_ints=[2,1]>() e=Tile(x,r)
        s=Constant<value_ints=[-1,4]>() y=Reshape(e,s) }""",
    "tile rows then interleave": """
        net (float[n, 2] x) => (float[m, 2] y) { r=Constant<value_ints=[2,1]>() e=Tile(x,r)
        f=Constant<value_ints=[-1,2,2]>() g=Reshape(e,f) a=Constant<value_ints=[1]>() y=ReduceSum<keepdims=0>(g,a) }""",
    "hardmax rows": """net (float[n, d] x) => (float[n, d] y) { y=Hardmax<axis=-2>(x) }""",
    "onehot of ids on axis 0": """
        net (int64[n] ids) => (float[3, n] y) { d=Constant<value_int=3>() v=Constant<value_floats=[0.0,1.0]>()
        o=OneHot<axis=0>(ids,d,v) y=Softmax<axis=1>(o) }""",
    "reverse sequence with batch as time": """
        net (float[n, t, d] x, int64[t] l) => (float[n, t, d] y) { y=ReverseSequence<batch_axis=1,time_axis=0>(x,l)
        }""",
    "gathernd no batch dims": """net (float[n, t, d] x, int64[n, 1] i) => (float[n, t, d] y) { y=GatherND(x,i) }""",
    "lstm batch as time": """
        net (float[n, 1, 2] x) => (float[n, 1, 1, 2] y) <float[1,8,2] w={1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8},
        float[1,8,2] r={1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}> { y,h,c=LSTM<hidden_size=2>(x,w,r) }""",
    "batchnorm training": """
        net (float[n, 2, t] x) => (float[n, 2, t] y) <float[2] a={1,2}, float[2] b={1,2}, float[2] c={1,2}, float[2]
        e={1,2}> { y,m,v=BatchNormalization<training_mode=1>(x,a,b,c,e) }""",
    "batchnorm inference rows as channel": """
        net (float[2, n, t] x, float[n] a, float[n] b, float[n] c, float[n] e) => (float[2, n, t] y) { v=Abs(e)
        y=BatchNormalization(x,a,b,c,v) }""",
    "mvn over batch default": """
        net (float[n, 2, t, t] x) => (float[n, 2, t, t] y) { y=MeanVarianceNormalization(x) }""",
    "trilu over rows": """net (float[n, d] x) => (float[n, d] y) { y=Trilu(x) }""",
    "trilu of square": """
        net (float[n, d] x) => (float[n, n] y) { p=Transpose(x) m=MatMul(x,p) y=Trilu<upper=0>(m) }""",
    "concat shared row in front": """net (float[n, d] x, float[1, d] w) => (float[m, d] y) { y=Concat<axis=0>(w,x) }""",
    "concat shared row then cut": """
        net (float[n, d] x, float[1, d] w) => (float[n, d] y) { c=Concat<axis=0>(w,x) a=Constant<value_ints=[0]>()
        e=Constant<value_ints=[-1]>() y=Slice(c,a,e,a) }""",
    "split rows in halves": """
        net (float[n, d] x) => (float[m, d] y) { c=Concat<axis=0>(x,x) s=Constant<value_ints=[3,-1,4]>()
        f=Constant<value_ints=[2,-1,4]>() g=Reshape(c,f) p=Transpose<perm=[1,0,2]>(g)
        h=Constant<value_ints=[-1,4]>() y=Reshape(p,h) }""",
    "attention without mask over rows": """
        net (float[n, d] x) => (float[n, d] y) { p=Transpose(x) w=MatMul(x,p) s=Softmax<axis=-1>(w) y=MatMul(s,x) }""",
    "shape by element of data": """
        net (float[n, d] x, int64[1] k) => (float[n, d] y) { z=Constant<value_ints=[0]>() s=Slice(x,z,k,z)
        m=ReduceMean(s) y=Sub(x,m) }""",
    "ctc wrong back": """
        net (float[t, n, 4] x) => (float[n, t, 4] y) { f=Constant<value_ints=[-1,4]>() a=Reshape(x,f)
        b=Softmax<axis=1>(a) s=Shape(x) i=Constant<value_ints=[1,0,2]>() r=Gather(s,i) y=Reshape(b,r) }""",
}

APART = {
    "reshape -1 swallows rows": """
        net (float[n, 6] x) => (float[a,b] y) { s=Constant<value_ints=[-1,4]>() two=Concat<axis=1>(x,x)
        q=Reshape(two,s) y=Softmax<axis=1>(q) }""",
    "einsum rows with broadcast one": """
        net (float[n, d] x, float[1, d] w) => (float[n] y) { y=Einsum<equation="ad,ad->a">(x,w) }""",
    "dropout ratio zero inference": """net (float[n, d] x) => (float[n, d] y) { y=Dropout(x) }""",
    "resize scales one but align": """
        net (float[n, 1, 4, 4] x) => (float[n, 1, 8, 8] y) { sc=Constant<value_floats=[1.0,1.0,2.0,2.0]>()
        y=Resize<mode="linear",coordinate_transformation_mode="align_corners">(x,,sc) }""",
    "roll by concat of slices on cols": """
        net (float[n, d] x) => (float[n, d] y) { a=Constant<value_ints=[1]>()
        e=Constant<value_ints=[9223372036854775807]>() z=Constant<value_ints=[0]>() r=Slice(x,a,e,a)
        f=Slice(x,z,a,a) y=Concat<axis=1>(r,f) }""",
    "depth to space with rows in channels": """
        net (float[n, 4, 2, 2] x) => (float[4, n, 2, 2] y) { p=Transpose<perm=[1,0,2,3]>(x) y=GlobalAveragePool(p) }""",
    "size times x": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() n1=Gather(s,z)
        f=Cast<to=1>(n1) y=Mul(x,f) }""",
    "row number plus x": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s,z) r=Range(z,n1,o) f=Cast<to=1>(r) x1=Constant<value_ints=[1]>() u=Unsqueeze(f,x1) y=Add(x,u) }""",
    "if on count": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() n1=Gather(s,z)
        o=Constant<value_int=1>() c=Greater(n1,o) y=If<then_branch=a () => (float[n,d] p){p=Neg(x)}, else_branch=b
        () => (float[n,d] q){q=Abs(x)}>(c) }""",
    "loop trips by rows": """
        net (float[n, d] x) => (float[n, d] y) { s=Shape(x) z=Constant<value_int=0>() n1=Gather(s,z)
        c=Constant<value_int=1>() cc=Cast<to=9>(c) y=Loop<body=b (int64 i, bool k, float[n,d] v) => (bool k2,
        float[n,d] w){k2=Identity(k) w=Neg(v)}>(n1,cc,x) }""",
    "scan over rows backwards no carry": """
        net (float[n, d] x, float[d] h) => (float[d] hh, float[n, d] y) {
        hh,y=Scan<num_scan_inputs=1,scan_input_directions=[1],body=b (float[d] s, float[d] p)=>(float[d] q, float[d]
        o){q=Identity(s) o=Neg(p)}>(h,x) }""",
    "scan outputs backwards": """
        net (float[n, d] x, float[d] h) => (float[d] hh, float[n, d] y) {
        hh,y=Scan<num_scan_inputs=1,scan_output_directions=[1],body=b (float[d] s, float[d] p)=>(float[d] q,
        float[d] o){q=Identity(s) o=Neg(p)}>(h,x) }""",
    "expand then transpose": """
        net (float[n] x) => (float[n, n] y) { s=Shape(x) t=Concat<axis=0>(s,s) e=Expand(x,t) y=Transpose(e) }""",
    "gathernd batch dims": """
        net (float[n, t, d] x, int64[n, 1] i) => (float[n, d] y) { y=GatherND<batch_dims=1>(x,i) }""",
    "concat of t with rows as axis 1": """
        net (float[n, d] x) => (float[n] y) { p=Transpose(x) c=Concat<axis=1>(p,p) z=Constant<value_ints=[0]>()
        y=ReduceMax<keepdims=0>(c,z) }""",
    "mean of equal parts mixing": """
        net (float[n, 4] x) => (float[n, 4] y) { f=Constant<value_ints=[2,-1]>() a=Concat<axis=0>(x,x)
        g=Reshape(a,f) z=Constant<value_ints=[0]>() m=ReduceMean<keepdims=0>(g,z) s=Constant<value_ints=[-1,4]>()
        y=Reshape(m,s) }""",
    "ctc t first merged": """
        net (float[t, n, 4] x) => (float[t, n, 4] y) { f=Constant<value_ints=[-1,4]>() a=Reshape(x,f)
        b=Softmax<axis=1>(a) s=Shape(x) y=Reshape(b,s) }""",
    "sorted and put back in each row": """
        net (float[n, 4] x) => (float[n, 4] y) { k=Constant<value_ints=[4]>() v, i=TopK<axis=1>(x, k) w=Tanh(v)
        f=Cast<to=1>(i) s, j=TopK<axis=1, largest=0>(f, k) y=GatherElements<axis=1>(w, j) }""",
    "steps in the order of each row": """
        net (float[n, t, 4] x, int64[n, t] p) => (float[n, t, 4] y) { l=Constant<value_ints=[-1]>()
        u=Unsqueeze(p, l) y=GatherND<batch_dims=1>(x, u) }""",
    "greedy decoding of steps merged with rows": """
        net (float[t, n, 4] x) => (int64[n, t] y) { f=Constant<value_ints=[-1,4]>() a=Reshape(x, f)
        m=ArgMax<axis=1, keepdims=0>(a) s=Shape(x) z=Constant<value_ints=[0,1]>() r=Gather(s, z) b=Reshape(m, r)
        y=Transpose<perm=[1,0]>(b) }""",
    "experts that a mask chooses": """
        net (float[n, 4] x, float[4, 2] g, float[4, 4] w) => (float[n, 4] y) { s=MatMul(x, g)
        i=ArgMax<axis=1, keepdims=1>(s) z=Constant<value_int=0>() m=Equal(i, z) f=Cast<to=1>(m) h=MatMul(x, w)
        k=Mul(h, f) y=Add(x, k) }""",
    "parts in columns that count rows": """
        net (float[n, 3, 4] x) => (float[n, 4] y) { s=Shape(x) z=Constant<value_int=0>() o=Constant<value_int=1>()
        n1=Gather(s, z) r=Range(z, n1, o) l=Constant<value_ints=[-1]>() c=Unsqueeze(r, l) p=Shape(c)
        k=ConstantOfShape<value: tensor = int64[1] {2}>(p) i=Concat<axis=1>(c, k) y=GatherND(x, i) }""",
}


def axes_of(made: onnx.ModelProto) -> dict[str, int]:
    """The axes of inputs whose size is n."""
    dims = {info.name: [dim.dim_param for dim in info.type.tensor_type.shape.dim] for info in made.graph.input}
    return {name: of.index("n") for name, of in dims.items() if "n" in of}


def contradicted(text: str, tally: Tally) -> list[str]:
    """The claims that runs contradict."""
    made = model(text)
    axes = axes_of(made)

    def make(count: int, rng: np.random.Generator) -> Mapping[str, Any]:
        shared = np.random.default_rng(5)
        infos = {info.name: info.type.tensor_type for info in made.graph.input}
        return {name: drawn(kind, count, rng if name in axes else shared) for name, kind in infos.items()}

    return hunted(made, axes, make, OTHERS, tally, "n")


def verdicts(text: str) -> set[str]:
    """What is proved of the outputs."""
    places = [f"{name}[{axis}]" for name, axis in axes_of(model(text)).items()]
    return {output.verdict for output in absint.analyze(model(text)).rows(places, run=False).outputs}


def drawn(kind: onnx.TypeProto.Tensor, count: int, rng: np.random.Generator) -> Any:
    sizes = {**OTHERS, "n": count}
    dims = [sizes.get(dim.dim_param, 3) if dim.dim_param else dim.dim_value for dim in kind.shape.dim]
    if kind.elem_type == TensorProto.FLOAT:
        return rng.standard_normal(dims).astype(np.float32)
    found = rng.integers(-1, 1, dims)
    return found.astype(np.bool_) if kind.elem_type == TensorProto.BOOL else found


@pytest.mark.parametrize("text", MEET.values(), ids=MEET.keys())
def test_rows_meet(text: str) -> None:
    assert "independent" not in verdicts(text)
    assert not contradicted(text, Tally())


@pytest.mark.parametrize("text", APART.values(), ids=APART.keys())
def test_rows_stay_apart(text: str) -> None:
    assert verdicts(text) & {"independent", "by position"}
    tally = Tally()
    assert not contradicted(text, tally)
    assert tally.compared
