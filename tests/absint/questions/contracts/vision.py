"""Networks that see: what they demand of the sizes of an image."""

from __future__ import annotations

from onnx import ModelProto

from tests.absint.questions.contracts.net import Net


def resnet() -> ModelProto:
    """Two residual stages behind a padded stem: every image has an answer."""
    net = Net()
    x = net.input("image", "batch", 3, "H", "W")
    x = net.add("Relu", "stem.relu", net.conv("stem", x, 3, 4, 7, stride=2))
    x = net.pool("MaxPool", "stem.pool", x, 3, 2, 1)
    x = net.add("Add", "stage1.add", net.conv("stage1.conv", x, 4, 4), x)
    shortcut = net.conv("stage2.shortcut", x, 4, 8, 1, stride=2)
    x = net.conv("stage2.conv2", net.conv("stage2.conv1", x, 4, 8, stride=2), 8, 8)
    x = net.add("Add", "stage2.add", x, shortcut)
    x = net.add("Flatten", "flatten", net.add("GlobalAveragePool", "head.pool", x))
    return net.model(net.add("Gemm", "head", x, net.weight(8, 10)))


def plain_convnet() -> ModelProto:
    """Windows without padding: an image must be large enough for all of them."""
    net = Net()
    x = net.input("image", "batch", 1, "H", "W")
    x = net.pool("MaxPool", "pool1", net.conv("conv1", x, 1, 2, 5, pad=0), 2, 2)
    x = net.pool("MaxPool", "pool2", net.conv("conv2", x, 2, 2, 5, pad=0), 2, 2)
    x = net.conv("conv3", x, 2, 4, 3, pad=0)
    x = net.add("Flatten", "flatten", net.add("GlobalAveragePool", "head.pool", x))
    return net.model(net.add("Gemm", "head", x, net.weight(4, 10)))


def lenet() -> ModelProto:
    """A fully connected layer behind the flattened image fixes both sizes together."""
    net = Net()
    x = net.input("image", "batch", 1, "H", "W")
    x = net.pool("MaxPool", "pool1", net.conv("conv1", x, 1, 2, 5, pad=0), 2, 2)
    x = net.pool("MaxPool", "pool2", net.conv("conv2", x, 2, 4, 5, pad=0), 2, 2)
    x = net.add("Flatten", "flatten", x)
    return net.model(net.add("Gemm", "fc", x, net.weight(4 * 4 * 4, 10)))


def pooled_shortcut() -> ModelProto:
    """A residual branch that rounds up, beside a pooled shortcut that rounds down."""
    net = Net()
    x = net.input("image", "batch", 4, "H", 8)
    branch = net.conv("branch", x, 4, 4, stride=2)
    return net.model(net.add("Add", "add", branch, net.pool("AveragePool", "shortcut", x, 2, 2)))


def unet(up: str, levels: int = 3) -> ModelProto:
    """An encoder that halves and a decoder that doubles, joined by Concat at every level."""
    net = Net()
    x = net.input("image", "batch", 2, "H", "W")
    skips = []
    for level in range(levels):
        x = net.add("Relu", f"down{level}.relu", net.conv(f"down{level}.conv", x, 2, 2))
        skips.append(x)
        x = net.pool("MaxPool", f"down{level}.pool", x, 2, 2)
    x = net.conv("middle", x, 2, 2)
    for level in reversed(range(levels)):
        if up == "ConvTranspose":
            weight = net.weight(2, 2, 2, 2)
            x = net.add("ConvTranspose", f"up{level}.up", x, weight, kernel_shape=[2, 2], strides=[2, 2])
        else:
            scales = net.constant([1, 1, 2, 2], "float32")
            x = net.add("Resize", f"up{level}.up", x, "", scales, mode="nearest")
        x = net.conv(f"up{level}.conv", net.add("Concat", f"up{level}.cat", skips[level], x, axis=1), 4, 2)
    return net.model(net.conv("head", x, 2, 1, 1))


def padded_windows(window: int = 7) -> ModelProto:
    """Attention in windows, the image padded to a multiple of the window and cut again."""
    net = Net()
    x = net.input("image", "batch", "H", "W", 4)
    pads = []
    for axis, name in ((1, "height"), (2, "width")):
        size = net.size(name, x, axis)
        rest = net.number(f"{name}.rest", "Mod", net.number(f"{name}.negative", "Neg", size), window)
        pads.append((size, rest))
    (height, down), (width, right) = pads
    zero = net.constant([0])
    amounts = net.add("Concat", "pads", zero, zero, zero, zero, zero, down, right, zero, axis=0)
    x = _window_attention(net, net.add("Pad", "pad", x, amounts), window)
    ends = net.add("Concat", "ends", height, width, axis=0)
    return net.model(net.add("Slice", "cut", x, net.constant([0, 0]), ends, net.constant([1, 2])))


def exact_windows(window: int = 7) -> ModelProto:
    """Attention in windows that must divide the image."""
    net = Net()
    return net.model(_window_attention(net, net.input("image", "batch", "H", "W", 4), window))


def _window_attention(net: Net, x: str, window: int) -> str:
    batch, height, width = (net.size(f"windows.{name}", x, axis) for axis, name in enumerate(("batch", "h", "w")))
    rows = net.number("windows.rows", "Div", height, window)
    columns = net.number("windows.columns", "Div", width, window)
    x = net.reshape("split", x, batch, rows, window, columns, window, 4)
    x = net.add("Transpose", "split.transpose", x, perm=[0, 1, 3, 2, 4, 5])
    x = net.reshape("tokens", x, -1, window * window, 4)
    q, k = net.linear("q", x, 4, 4), net.add("Transpose", "k.transpose", net.linear("k", x, 4, 4), perm=[0, 2, 1])
    bias = net.weight(window * window, window * window)
    scores = net.add("Softmax", "softmax", net.add("Add", "bias", net.add("MatMul", "scores", q, k), bias))
    x = net.add("MatMul", "mixed", scores, net.linear("v", x, 4, 4))
    x = net.reshape("join", x, batch, rows, columns, window, window, 4)
    x = net.add("Transpose", "join.transpose", x, perm=[0, 1, 3, 2, 4, 5])
    return net.reshape("merge", x, batch, height, width, 4)


def detector() -> ModelProto:
    """A feature pyramid: coarse maps resized to the shape of finer ones, heads joined over all positions."""
    net = Net()
    x = net.input("image", "batch", 3, "H", "W")
    levels = []
    for level in range(3):
        x = net.add("Relu", f"c{level}.relu", net.conv(f"c{level}", x, 3 if level == 0 else 4, 4, stride=2))
        levels.append(net.conv(f"lateral{level}", x, 4, 4, 1))
    for level in (1, 0):
        fine = levels[level]
        shape = net.add("Shape", f"shape{level}", fine)
        up = net.add("Resize", f"resize{level}", levels[level + 1], "", "", shape, mode="nearest")
        levels[level] = net.add("Add", f"merge{level}", fine, up)
    heads = []
    for level, p in enumerate(levels):
        head = net.conv(f"head{level}", p, 4, 6)
        flat = net.add("Reshape", f"flat{level}", head, net.constant([0, 6, -1]))
        heads.append(net.add("Transpose", f"rows{level}", flat, perm=[0, 2, 1]))
    return net.model(net.add("Concat", "all", *heads, axis=1))


def pyramid_by_scale() -> ModelProto:
    """A feature pyramid whose coarse map is doubled: it must fit the finer one."""
    net = Net()
    x = net.input("image", "batch", 3, "H", "W")
    fine = net.conv("c1", net.conv("c0", x, 3, 4, stride=2), 4, 4, stride=2)
    coarse = net.conv("c2", fine, 4, 4, stride=2)
    up = net.add("Resize", "up", coarse, "", net.constant([1, 1, 2, 2], "float32"), mode="nearest")
    return net.model(net.add("Concat", "joined", fine, up, axis=1))


def detector_top(k: int = 20) -> ModelProto:
    """Scores of a grid of cells, of which the k best are kept."""
    net = Net()
    x = net.input("image", "batch", 3, "H", "W")
    x = net.conv("cells", x, 3, 1, 8, stride=8, pad=0)
    flat = net.add("Flatten", "flat", x)
    best = net.add("TopK", "best", flat, net.constant([k]), outputs=2)
    return net.model(*best)


def pixel_shuffle() -> ModelProto:
    """Super-resolution: channels become pixels."""
    net = Net()
    x = net.input("features", "batch", "C", "H", "W")
    return net.model(net.add("DepthToSpace", "shuffle", x, blocksize=2))


def focus() -> ModelProto:
    """Pixels become channels, two by two."""
    net = Net()
    x = net.input("image", "batch", 3, "H", "W")
    return net.model(net.conv("conv", net.add("SpaceToDepth", "focus", x, blocksize=2), 12, 4))


def focus_by_slices() -> ModelProto:
    """The same as YOLO exports it: four strided slices, joined."""
    net = Net()
    x = net.input("image", "batch", 3, "H", "W")
    axes, steps = net.constant([2, 3]), net.constant([2, 2])
    ends = net.constant([2**63 - 1, 2**63 - 1])
    parts = [
        net.add("Slice", f"slice{i}{j}", x, net.constant([i, j]), ends, axes, steps) for i in (0, 1) for j in (0, 1)
    ]
    return net.model(net.conv("conv", net.add("Concat", "cat", *parts, axis=1), 12, 4))


def grouped_conv() -> ModelProto:
    """Convolution in two groups over channels that the declaration leaves open."""
    net = Net()
    x = net.input("features", "batch", "C", "H", "W")
    return net.model(net.conv("conv", x, 8, 4, group=2))


def group_norm() -> ModelProto:
    """Group normalisation as exporters write it: a reshape into groups around InstanceNormalization."""
    net = Net()
    x = net.input("features", "batch", "C", "H", "W")
    grouped = net.add("Reshape", "groups", x, net.constant([0, 4, -1]))
    scale, shift = net.constant([1] * 4, "float32"), net.constant([0] * 4, "float32")
    normal = net.add("InstanceNormalization", "norm", grouped, scale, shift)
    return net.model(net.add("Reshape", "back", normal, net.add("Shape", "shape", x)))


def patches(size: int = 4) -> ModelProto:
    """A vision transformer's patches and its table of positions for an image of 4 x 4 patches."""
    net = Net()
    x = net.conv("patch", net.input("image", "batch", 3, "H", "W"), 3, 8, size, stride=size, pad=0)
    x = net.add("Transpose", "tokens", net.add("Reshape", "flat", x, net.constant([0, 8, -1])), perm=[0, 2, 1])
    return net.model(net.add("Add", "positions", x, net.weight(16, 8)))


def odd_fusion() -> ModelProto:
    """Two branches that shrink by different windows and are stacked."""
    net = Net()
    x = net.input("image", "batch", 2, "H", 16)
    fine = net.conv("fine", x, 2, 2, 3, stride=2, pad=0)
    coarse = net.conv("coarse", x, 2, 2, 4, stride=2, pad=0)
    return net.model(net.add("Concat", "cat", fine, coarse, axis=1))
