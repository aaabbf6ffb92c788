"""Shape arithmetic in the idioms that exporters write: exact sizes, held against runs."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from onnx import ModelProto, parser

import absint
from tests.runs import Runs


class Idiom(NamedTuple):
    """The inputs of a graph, its nodes, and the shape of `out`."""

    inputs: str
    nodes: str
    expect: str


IDIOMS: Final = {
    "expand with -1": Idiom(
        "float[n,c] x, float[m,n,c] y",
        """
        s = Shape(y) neg = Constant <value_ints=[-1,-1,-1]> () one = Constant <value_ints=[1,1,1]> () m1 =
        Constant <value_ints=[-1,-1,-1]> () k = Shape(x) i0 = Constant <value_int=0> () n = Gather(k,i0) ax =
        Constant <value_ints=[0]> () nu = Unsqueeze(n,ax) three = Constant <value_ints=[3]> () m1_ = Constant
        <value_ints=[-1]> () tgt = Concat <axis=0> (three,nu,m1_) rank = Shape(tgt) ones = ConstantOfShape
        <value=int64[1]{1}> (rank) mm = Constant <value_int=-1> () mn = Mul(ones,mm) eq = Equal(tgt,mn) w =
        Where(eq,ones,tgt) out = Expand(x,w)
        """,
        "[3, n, c]",
    ),
    "expand with -1, as paddle2onnx": Idiom(
        "float[n,1,h] x, float[m,c] y",
        """
        sx = Shape(x) sy = Shape(y) z = Constant <value_ints=[0]> () o = Constant <value_ints=[1]> () t =
        Constant <value_ints=[2]> () c = Slice(sy,o,t,z) m1 = Constant <value_ints=[-1]> () tg = Concat <axis=0>
        (m1,c,m1) zz = Constant <value_ints=[0,0,0]> () g = Less(tg,zz) w = Where(g,sx,tg) out = Expand(x,w)
        """,
        "[n, c, h]",
    ),
    "ScatterND of a size": Idiom(
        "float[n,c,8] x, float[m] y",
        """
        s = Shape(x) i = Constant <value=int64[1,1]{1}> () v = Shape(y) t = ScatterND(s,i,v) out =
        ConstantOfShape(t)
        """,
        "[n, m, 8]",
    ),
    "ScatterND of sizes into zeros": Idiom(
        "float[n,h] x",
        """
        s = Shape(x) z = Constant <value_ints=[0]> () o = Constant <value_ints=[1]> () n = Slice(s,z,o,z) k =
        Constant <value=int64[2,1]{0,2}> () w = Constant <value=int64[1]{5}> () v = Concat <axis=0> (n,w) zer =
        Constant <value_ints=[0,0,0]> () t = ScatterND(zer,k,v) i = Constant <value=int64[1,1]{1}> () o7 =
        Constant <value=int64[1]{7}> () q = ScatterND(t,i,o7) out = ConstantOfShape(q)
        """,
        "[n, 7, 5]",
    ),
    "ScatterElements that adds": Idiom(
        "float[n,c,8] x, float[m] y",
        """
        s = Shape(x) i = Constant <value_ints=[2]> () v = Shape(y) t = ScatterElements <axis=0,reduction="add">
        (s,i,v) out = ConstantOfShape(t)
        """,
        "[n, c, m + 8]",
    ),
    "positions of a scattered mask": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) z = Constant <value_ints=[0,0,0]> () i = Constant <value=int64[1,1]{1}> () v = Constant
        <value_ints=[1]> () m = ScatterND(z,i,v) nz = NonZero(m) a = Constant <value_ints=[0]> () q =
        Squeeze(nz,a) t = Gather(s,q) out = ConstantOfShape(t)
        """,
        "[c]",
    ),
    "Where by computed positions": Idiom(
        "float[n,c,8] x",
        """
        s = Shape(x) z = Constant <value_int=0> () three = Constant <value_int=3> () o = Constant <value_int=1>
        () r = Range(z,three,o) e = Equal(r,o) oo = Constant <value_ints=[7]> () t = Where(e,oo,s) out =
        ConstantOfShape(t)
        """,
        "[n, 7, 8]",
    ),
    "sizes that are masked": Idiom(
        "float[n,c,8] x",
        """
        s = Shape(x) k = Constant <value_ints=[8,8,8]> () e = Equal(s,k) z = Constant <value_ints=[0]> () w =
        Where(e,z,s) a = Not(e) q = Cast <to=7> (a) p = Mul(s,q) o = Constant <value_ints=[1]> () t = Add(p,o)
        out = ConstantOfShape(t)
        """,
        "[n*ite(n == 8, 0, 1) + 1, c*ite(c == 8, 0, 1) + 1, 1]",
    ),
    "CumSum of sizes": Idiom(
        "float[n,c,8] x",
        """
        s = Shape(x) z = Constant <value_int=0> () cs = CumSum(s,z) out = ConstantOfShape(cs)
        """,
        "[n, c + n, c + n + 8]",
    ),
    "sequence of shapes, joined": Idiom(
        "float[n,c] x, float[m,k] y",
        """
        e = SequenceEmpty <dtype=7> () s = Shape(x) t = Shape(y) a = SequenceInsert(e,s) b = SequenceInsert(a,t)
        q = ConcatFromSequence <axis=0> (b) out = ConstantOfShape(q)
        """,
        "[n, c, m, k]",
    ),
    "sequence of sizes, stacked": Idiom(
        "float[n,c] x",
        """
        s = Shape(x) i0 = Constant <value_int=0> () i1 = Constant <value_int=1> () a = Gather(s,i0) b =
        Gather(s,i1) l = SequenceConstruct(a,b) q = ConcatFromSequence <axis=0,new_axis=1> (l) out =
        ConstantOfShape(q)
        """,
        "[n, c]",
    ),
    "shape split into scalars": Idiom(
        "float[n,c] x",
        """
        s = Shape(x) l = SplitToSequence <keepdims=0> (s) i0 = Constant <value_int=1> () a = SequenceAt(l,i0) u
        = Constant <value_ints=[0]> () q = Unsqueeze(a,u) out = ConstantOfShape(q)
        """,
        "[c]",
    ),
    "shape split into halves": Idiom(
        "float[n,c,h,w] x",
        """
        s = Shape(x) two = Constant <value_ints=[2,2]> () l = SplitToSequence(s,two) i0 = Constant <value_int=1>
        () a = SequenceAt(l,i0) out = ConstantOfShape(a)
        """,
        "[h, w]",
    ),
    "sequence of one shape, erased and joined": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) l = SequenceConstruct(s,s,s) k = Constant <value_int=1> () a = SequenceAt(l,k) e =
        SequenceErase(l,k) b = ConcatFromSequence <axis=0> (e) i = Constant <value_ints=[3]> () d = Gather(b,i)
        out = ConstantOfShape(d)
        """,
        "[n]",
    ),
    "ReduceProd in int32": Idiom(
        "float[n,c,8] x",
        """
        s = Shape(x) q = Cast <to=6> (s) p = ReduceProd <keepdims=1> (q) r = Cast <to=7> (p) out =
        ConstantOfShape(r)
        """,
        "[8*c*n]",
    ),
    "tensordot of TensorFlow": Idiom(
        "float[n,c,8] x",
        """
        s = Shape(x) q = Cast <to=6> (s) ij = Constant <value_ints=[0,1]> () two = Constant <value_ints=[2]> ()
        free = Gather(q,ij) con = Gather(q,two) z = Constant <value_ints=[0]> () pf = ReduceProd
        <axes=[0],keepdims=0> (free) pc = ReduceProd <axes=[0],keepdims=0> (con) a = Unsqueeze(pf,z) b =
        Unsqueeze(pc,z) t = Concat <axis=0> (a,b) l = Cast <to=7> (t) y = Reshape(x,l) w = Constant
        <value=float[8,2]{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> () mm = MatMul(y,w) k = Constant <value=int32[1]{2}>
        () t2 = Concat <axis=0> (free,k) l2 = Cast <to=7> (t2) out = Reshape(mm,l2)
        """,
        "[n, ite(c == 0, 2, c), 2]",
    ),
    "NonZero of a mask": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) p = Constant <value_ints=[1,0,1]> () nz = NonZero(p) u = Constant <value_ints=[0]> () sq =
        Squeeze(nz,u) t = Gather(s,sq) out = ConstantOfShape(t)
        """,
        "[n, h]",
    ),
    "Unique of axes": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) p = Constant <value_ints=[2,0,2]> () a,b,d,e = Unique(p) t = Gather(s,a) out =
        ConstantOfShape(t)
        """,
        "[n, h]",
    ),
    "ArgMax of axes": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) p = Constant <value_ints=[2,0,1]> () i = ArgMax <keepdims=1> (p) t = Gather(s,i) out =
        ConstantOfShape(t)
        """,
        "[n]",
    ),
    "Gather of the last size": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) sz = Size(s) o = Constant <value_int=1> () l = Sub(sz,o) u = Constant <value_ints=[0]> ()
        lu = Unsqueeze(l,u) t = Gather(s,lu) out = ConstantOfShape(t)
        """,
        "[h]",
    ),
    "lowest bits": Idiom(
        "float[n,c] x",
        """
        s = Shape(x) k = Constant <value_ints=[3,7]> () t = BitwiseAnd(s,k) out = ConstantOfShape(t)
        """,
        "[n % 4, c % 8]",
    ),
    "without the lowest bits": Idiom(
        "float[n,c] x",
        """
        s = Shape(x) k = Constant <value_ints=[-8,-4]> () seven = Constant <value_ints=[7,3]> () a =
        Add(s,seven) t = BitwiseAnd(a,k) out = ConstantOfShape(t)
        """,
        "[8*((n + 7)//8), 4*((c + 3)//4)]",
    ),
    "Compress by a comparison": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) k = Constant <value=int64[3]{3,0,5}> () z = Constant <value_int=0> () b = Greater(k,z) t =
        Compress <axis=0> (s,b) out = ConstantOfShape(t)
        """,
        "[n, h]",
    ),
    "Compress by a mask of ones": Idiom(
        "float[n] x",
        """
        s = Shape(x) o = ConstantOfShape <value=bool[1]{1}> (s) out = Compress <axis=0> (x,o)
        """,
        "[n]",
    ),
    "sizes picked by an identity": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) k = Constant <value=int64[3,3]{0,0,0,0,0,0,0,0,0}> () e = EyeLike <dtype=7> (k) m =
        Mul(e,s) a = Constant <value_ints=[0]> () t = ReduceSum(m,a) q = Squeeze(t,a) out = ConstantOfShape(q)
        """,
        "[n, c, h]",
    ),
    "a size picked by OneHot": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) i = Constant <value_ints=[1]> () d = Constant <value_int=3> () v = Constant
        <value_ints=[0,1]> () oh = OneHot(i,d,v) m = Constant <value_ints=[-1]> () f = Reshape(oh,m) p =
        Mul(s,f) r = ReduceSum <keepdims=1> (p) out = ConstantOfShape(r)
        """,
        "[c]",
    ),
    "repeat_interleave by OneHot": Idiom(
        "float[n,c] x, float[m,k] q",
        """
        qs = Shape(q) i0 = Constant <value_int=0> () m = Gather(qs,i0) f = Constant <value_ints=[1]> () mr =
        Reshape(m,f) idx = Constant <value_ints=[1]> () d = Constant <value_int=3> () one = Constant
        <value_ints=[1]> () v = Concat <axis=0> (one,mr) oh = OneHot(idx,d,v) fl = Flatten <axis=1> (oh) m1 =
        Constant <value_ints=[-1]> () rp = Reshape(fl,m1) a1 = Constant <value_ints=[1]> () xu = Unsqueeze(x,a1)
        t = Tile(xu,rp) xs = Shape(t) s2 = Constant <value_ints=[2]> () e3 = Constant <value_ints=[3]> () z =
        Constant <value_ints=[0]> () tail = Slice(xs,s2,e3) tg = Concat <axis=0> (m1,tail) out = Reshape(t,tg)
        """,
        "[ite(c == 0, 0, m*n), ite(c == 0, m, c)]",
    ),
    "meshgrid": Idiom(
        "float[n,h,w] x",
        """
        s = Shape(x) i1 = Constant <value_int=1> () i2 = Constant <value_int=2> () h = Gather(s,i1) w =
        Gather(s,i2) z = Constant <value_int=0> () r = Range(z,h,i1) q = Range(z,w,i1) m1 = Constant
        <value_ints=[-1,1]> () rr = Reshape(r,m1) m2 = Constant <value_ints=[1,-1]> () qq = Reshape(q,m2) u =
        Constant <value_ints=[0]> () hu = Unsqueeze(h,u) wu = Unsqueeze(w,u) t = Concat <axis=0> (hu,wu) a =
        Expand(rr,t) b = Expand(qq,t) ax = Constant <value_ints=[-1]> () au = Unsqueeze(a,ax) bu =
        Unsqueeze(b,ax) g = Concat <axis=-1> (au,bu) m3 = Constant <value_ints=[-1,2]> () gg = Reshape(g,m3) out
        = Cast <to=1> (gg)
        """,
        "[h*w, 2]",
    ),
    "anchors of a grid": Idiom(
        "float[n,c,h,w] x",
        """
        s = Shape(x) i2 = Constant <value_int=2> () i3 = Constant <value_int=3> () z = Constant <value_int=0> ()
        o = Constant <value_int=1> () h = Gather(s,i2) w = Gather(s,i3) rh = Range(z,h,o) rw = Range(z,w,o) m1 =
        Constant <value_ints=[-1]> () a1 = Constant <value_ints=[1]> () a0 = Constant <value_ints=[0]> () rhu =
        Unsqueeze(rh,a1) rwu = Unsqueeze(rw,a0) hu = Unsqueeze(h,a0) wu = Unsqueeze(w,a0) hw = Concat <axis=0>
        (hu,wu) gy = Expand(rhu,hw) gx = Expand(rwu,hw) fy = Reshape(gy,m1) fx = Reshape(gx,m1) a2 = Constant
        <value_ints=[1]> () fyu = Unsqueeze(fy,a2) fxu = Unsqueeze(fx,a2) st = Concat <axis=1> (fxu,fyu,fxu,fyu)
        k = Constant <value=int64[3,4]{0,0,0,0,0,0,0,0,0,0,0,0}> () rs = Constant <value_ints=[-1,1,4]> () rk =
        Constant <value_ints=[1,-1,4]> () sr = Reshape(st,rs) kr = Reshape(k,rk) ad = Add(sr,kr) r4 = Constant
        <value_ints=[-1,4]> () al = Reshape(ad,r4) out = Cast <to=1> (al)
        """,
        "[3*h*w, 4]",
    ),
    "indices of every second row": Idiom(
        "float[n,c,h] x",
        """
        s = Shape(x) i1 = Constant <value_int=1> () i2 = Constant <value_int=2> () h = Gather(s,i1) z = Constant
        <value_int=0> () r = Range(z,h,i2) m = Constant <value_ints=[-1,1]> () idx = Reshape(r,m) y = Transpose
        <perm=[1,0,2]> (x) g = GatherND(y,idx) out = Identity(g)
        """,
        "[(c + 1)//2, n, h]",
    ),
    "unfold by indices": Idiom(
        "float[n,c,h,w] x",
        """
        s = Shape(x) i2 = Constant <value_int=2> () i3 = Constant <value_int=3> () h = Gather(s,i2) w =
        Gather(s,i3) z = Constant <value_int=0> () k = Constant <value_int=3> () st = Constant <value_int=2> ()
        one = Constant <value_int=1> () d = Sub(h,k) dp = Add(d,one) r = Range(z,dp,st) k3 = Range(z,k,one) a0 =
        Constant <value_ints=[0]> () a1 = Constant <value_ints=[1]> () ru = Unsqueeze(r,a0) ku =
        Unsqueeze(k3,a1) idx = Add(ru,ku) g = Gather <axis=2> (x,idx) out = Identity(g)
        """,
        "[n, c, 3, max((h + 1)//2 - 1, 0), w]",
    ),
    "a target that is data": Idiom(
        "float[n,c,8] x, float[1] y",
        """
        m = Cast <to=7> (y) a = Constant <value_ints=[8]> () t = Concat <axis=0> (m,a) out = Reshape(x,t)
        """,
        "[c*n, 8]",
    ),
    "group normalisation of a padded image": Idiom(
        "float[n,c] x, float[m] y",
        """
        s = Shape(x) p = ReduceProd <keepdims=1> (s) k = Constant <value_ints=[31]> () q = Add(p,k)
        d = Constant <value_ints=[32]> () h = Div(q,d) w = Shape(y) e = Constant <value_ints=[1,8]> ()
        t = Concat <axis=0> (e,h,w) image = ConstantOfShape(t) g = Constant <value_ints=[0,2,-1]> ()
        groups = Reshape(image,g) sizes = Shape(image) out = Reshape(groups,sizes)
        """,
        "[1, 8, (c*n + 31)//32, m]",
    ),
    "chunks by Slice": Idiom(
        "float[n,h] x",
        """
        s = Shape(x) i = Constant <value_ints=[1]> () e = Constant <value_ints=[2]> () h = Slice(s,i,e) o =
        Constant <value_ints=[1]> () hp = Add(h,o) two = Constant <value_ints=[2]> () k = Div(hp,two) zz =
        Constant <value_ints=[0]> () a = Slice(x,zz,k,i) k2 = Mul(k,two) b = Slice(x,k,k2,i) out = Concat
        <axis=1> (a,b)
        """,
        "[n, h]",
    ),
    "chunks by Split": Idiom(
        "float[n,h] x",
        """
        a1 = Constant <value_ints=[1]> () i1 = Constant <value_int=1> () s = Shape(x) h = Gather(s,a1) two =
        Constant <value_ints=[2]> () k = Div(h,two) r = Sub(h,k) sp = Concat <axis=0> (k,r) a,b = Split <axis=1>
        (x,sp) out = Concat <axis=1> (b,a)
        """,
        "[n, h]",
    ),
    "tensor_split": Idiom(
        "float[n,h] x",
        """
        s = Shape(x) a1 = Constant <value_ints=[1]> () one = Constant <value_int=1> () h = Gather(s,one) three =
        Constant <value_int=3> () q = Div(h,three) m = Mod(h,three) z = Constant <value_int=0> () r =
        Range(z,three,one) l = Less(r,m) li = Cast <to=7> (l) sp = Add(li,q) a,b,c = Split <axis=1> (x,sp) out =
        Identity(b)
        """,
        "[n, (h + 1)//3]",
    ),
    "interpolate to the size of another": Idiom(
        "float[n,c,h,w] x, float[m,k,p,q] y",
        """
        sx = Shape(x) z = Constant <value_ints=[0]> () t = Constant <value_ints=[2]> () f = Constant
        <value_ints=[4]> () a = Slice(sx,z,t) sy = Shape(y) b = Slice(sy,t,f) c = Concat <axis=0> (a,b) out =
        Resize <mode="linear"> (x,,,c)
        """,
        "[n, c, p, q]",
    ),
    "interpolate by a scale": Idiom(
        "float[n,c,h,w] x",
        """
        sx = Shape(x) z = Constant <value_ints=[0]> () t = Constant <value_ints=[2]> () f = Constant
        <value_ints=[4]> () a = Slice(sx,z,t) b = Slice(sx,t,f) bf = Cast <to=1> (b) k = Constant
        <value_floats=[2.0,2.0]> () m = Mul(bf,k) fl = Floor(m) i = Cast <to=7> (fl) c = Concat <axis=0> (a,i)
        out = Resize <mode="linear"> (x,,,c)
        """,
        "[n, c, 2*h, 2*w]",
    ),
    "tf.repeat": Idiom(
        "float[n,c] x",
        """
        s = Shape(x) u = Constant <value_ints=[1]> () xe = Unsqueeze(x,u) rep = Constant <value_ints=[1,3,1]> ()
        t = Tile(xe,rep) z = Constant <value_ints=[0]> () n = Gather(s,z) three = Constant <value_ints=[3]> () m
        = Mul(n,three) c = Gather(s,u) tg = Concat <axis=0> (m,c) out = Reshape(t,tg)
        """,
        "[3*n, ite(c == 0, 3, c)]",
    ),
    "space_to_batch": Idiom(
        "float[n,h,w,c] x",
        """
        s = Shape(x) i = Constant <value_ints=[1,2]> () hw = Gather(s,i) b = Constant <value_ints=[2,2]> () m =
        Mod(hw,b) d = Sub(b,m) pad = Mod(d,b) z1 = Constant <value_ints=[0]> () z3 = Constant
        <value_ints=[0,0,0]> () z2 = Constant <value_ints=[0,0,0,0,0]> () pads = Concat <axis=0> (z2,pad,z1) y =
        Pad(x,pads) t = Transpose <perm=[3,0,1,2]> (y) sd = SpaceToDepth <blocksize=2> (t) u = Transpose
        <perm=[1,2,3,0]> (sd) out = Identity(u)
        """,
        "[4*n, (h + 1)//2, (w + 1)//2, c]",
    ),
    "Shape, Slice and Concat in int32": Idiom(
        "float[n,c,h,w] x",
        """
        s = Shape(x) q = Cast <to=6> (s) z = Constant <value_ints=[2]> () e = Constant <value_ints=[4]> () a =
        Constant <value_ints=[0]> () g = Slice(q,z,e,a) two = Constant <value=int32[1]{2}> () gg = Mul(g,two) f
        = Cast <to=7> (gg) z2 = Constant <value_ints=[0]> () e2 = Constant <value_ints=[2]> () nc =
        Slice(s,z2,e2,a) t = Concat <axis=0> (nc,f) out = Resize <mode="nearest"> (x,,,t)
        """,
        "[n, c, 2*h, 2*w]",
    ),
    "TopK of at most 1000": Idiom(
        "float[n,h,w] x",
        """
        s = Shape(x) i1 = Constant <value_int=1> () i2 = Constant <value_int=2> () h = Gather(s,i1) w =
        Gather(s,i2) p = Mul(h,w) k = Constant <value_int=1000> () a = Constant <value_ints=[0]> () pu =
        Unsqueeze(p,a) ku = Unsqueeze(k,a) c = Concat <axis=0> (pu,ku) m = ReduceMin <keepdims=0> (c) mu =
        Unsqueeze(m,a) f = Constant <value_ints=[-1]> () f2 = Constant <value_ints=[0,-1]> () xx = Reshape(x,f2)
        v,i = TopK(xx,mu) out = Identity(v)
        """,
        "[n, min(h*w, 1000)]",
    ),
    "pixel_shuffle": Idiom(
        "float[n,12,h,w] x",
        """
        s = Shape(x) z = Constant <value_ints=[0]> () o = Constant <value_ints=[1]> () two = Constant
        <value_ints=[2]> () four = Constant <value_ints=[4]> () n = Slice(s,z,o,z) hw = Slice(s,two,four,z) k =
        Constant <value_ints=[3,2,2]> () t = Concat <axis=0> (n,k,hw) y = Reshape(x,t) p = Transpose
        <perm=[0,1,4,2,5,3]> (y) h2 = Mul(hw,two) c3 = Constant <value_ints=[3]> () t2 = Concat <axis=0>
        (n,c3,h2) out = Reshape(p,t2)
        """,
        "[n, 3, 2*h, 2*w]",
    ),
    "padding to a multiple of 64": Idiom(
        "float[n,c,t] x",
        """
        s = Shape(x) i2 = Constant <value_ints=[2]> () t = Gather(s,i2) k = Constant <value_ints=[64]> () m =
        Neg(t) r = Mod(m,k) z5 = Constant <value_ints=[0,0,0,0,0]> () pd = Concat <axis=0> (z5,r) out =
        Pad(x,pd)
        """,
        "[n, c, 64*((t + 63)//64)]",
    ),
}
LOST: Final = {
    "TopK of sizes": Idiom(
        "float[n,c,h] x", "s = Shape(x) k = Constant <value_ints=[2]> () v, i = TopK(s,k) out = ConstantOfShape(v)", ""
    ),
    "MatMul of sizes": Idiom(
        "float[n,c] x", "s = Shape(x) k = Constant <value=int64[2,2]{1,0,0,2}> () t = MatMul(s,k) out = Expand(x,t)", ""
    ),
    "ReduceL1 of sizes": Idiom(
        "float[n,c] x", "s = Shape(x) t = ReduceL1 <keepdims=1> (s) out = ConstantOfShape(t)", ""
    ),
    "positions below a size": Idiom(
        "float[n] x, float[m] y",
        """
        s = Shape(x) z = Constant <value_int=0> () n = Gather(s,z) o = Constant <value_int=1> () r = Range(z,n,o)
        t = Shape(y) q = Gather(t,z) e = Less(r,q) out = NonZero(e)
        """,
        "",
    ),
    "every fourth position": Idiom(
        "float[n] x",
        """
        s = Shape(x) z = Constant <value_int=0> () n = Gather(s,z) o = Constant <value_int=1> () r = Range(z,n,o)
        k = Constant <value_int=4> () m = Mod(r,k) e = Equal(m,z) out = NonZero(e)
        """,
        "",
    ),
    "positions of a triangle": Idiom(
        "float[n] x",
        "s = Shape(x) two = Concat <axis=0> (s,s) o = ConstantOfShape <value=int64[1]{1}> (two) t = Trilu(o) "
        "out = NonZero(t)",
        "",
    ),
    "segments of TensorFlow": Idiom(
        "int64[n] x",
        "v, i, j, c = Unique <axis=0, sorted=1> (x) m = ReduceMax <axes=[0], keepdims=1> (c) out = ConstantOfShape(m)",
        "",
    ),
}
"""Their sizes are unknown on purpose."""

DOCS: Final = (Path(__file__).parents[3] / "docs" / "precision.md").read_text(encoding="utf-8")

SIZES: Final = (0, 1, 2, 5)
MOST: Final = 48


def model(idiom: Idiom) -> ModelProto:
    opset = 18 if "Bitwise" in idiom.nodes else 17
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> net ({idiom.inputs}) => (float[] out) {{{idiom.nodes}}}'
    made = parser.parse_model(text)
    made.graph.output[0].ClearField("type")
    return made


@pytest.mark.parametrize("name", IDIOMS)
def test_sizes_are_exact(name: str) -> None:
    idiom = IDIOMS[name]
    made = model(idiom)
    result = absint.analyze(made)
    assert str(result.shapes["out"]) == idiom.expect
    assert ran(idiom, made, result) >= 4


@pytest.mark.parametrize("name", LOST)
def test_losses_are_on_the_list(name: str) -> None:
    """An open size is named in the documentation; if it becomes exact, the documentation has to change."""
    made = model(LOST[name])
    result = absint.analyze(made)
    assert "_d" in str(result.shapes["out"])
    assert f'"{name}"' in DOCS
    assert ran(LOST[name], made, result)


def test_the_list_names_these_graphs() -> None:
    reasons = DOCS.split("\n## Unknown for a reason\n")[1].split("\n## ")[0]
    assert {*re.findall(r'"(.+?)"', reasons)} == {*LOST}


def ran(idiom: Idiom, made: ModelProto, result: absint.Result) -> int:
    """At how many sizes the graph ran; every claim is held against each run."""
    runs, count = Runs(made, result), 0
    symbols = sorted({dim for dims in re.findall(r"\[(.*?)\]", idiom.inputs) for dim in re.findall(r"[a-z]+", dims)})
    for values in list(product(SIZES, repeat=len(symbols)))[:: max(len(SIZES) ** len(symbols) // MOST, 1)]:
        binding = dict(zip(symbols, values, strict=True))
        try:
            runs.run(binding)
        except Exception:  # these sizes do not run
            continue
        runs.check(binding)
        count += 1
    return count
