"""What happens to an image before it is described: deskewing, and augmentation of training images."""
