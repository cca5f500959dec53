"""Linear filters of images: convolution, matrices along the axes, blurs."""
