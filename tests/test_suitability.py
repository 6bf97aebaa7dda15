"""Channels that suit images with and without colour. Deskewing: also tests of selection and of the classifier."""

import numpy as np
import pytest

from ddlcn import DDLCNError
from ddlcn.execution import session
from ddlcn.presets import best
from ddlcn.selection import Selection
from ddlcn.suitability import choose_deskew, suited_channels
from tests.helpers import eight_bit


@pytest.fixture
def run():
    with session(n_jobs=2) as found:
        yield found


def colored_digits(digits, colored):
    """Digits in red where told so, and labels."""
    images = np.repeat(eight_bit(digits[0])[..., None], 3, axis=3)
    images[colored, ..., 1:] //= 3
    return images, digits[1]


@pytest.mark.parametrize(("share", "used"), [(0, False), (0.05, False), (0.5, True), (1, True)])
def test_color_is_described_if_a_tenth_of_the_images_have_it(digits, run, share, used):
    rng, choose = np.random.default_rng(0), Selection(digits[1], 0)
    images, _ = colored_digits(digits, rng.permutation(len(digits[1])) < share * len(digits[1]))
    channels = suited_channels(best().channels, choose, (0.0, 1.0), images, run)
    names = {"sift", "sift_grid", "covariance", "covariance_grid", *(["color"] if used else [])}
    assert {channel.name for channel in channels} == names
    assert channels[-1].descriptor.n_features == (224 if used else 128)  # SIFT, and colour if there is any
    (row,) = choose.record
    assert (row["setting"], row["candidate"]) == ("color", used)
    assert suited_channels(channels[:1], choose, (0.0, 1.0), images, run) == channels[:1]


def test_channels_that_need_colour_which_is_not_there(digits, run):
    color = [channel for channel in best().channels if channel.name == "color"]
    with pytest.raises(DDLCNError, match="the images have no colour, which all channels need: add a channel"):
        suited_channels(color, Selection(digits[1], 0), (0.0, 16.0), digits[0], run)


def test_warning_if_colour_follows_the_class(digits, run):
    images, labels = colored_digits(digits, digits[1] < 2)
    with pytest.warns(UserWarning, match="some classes have grey images only and others colour images only"):
        suited_channels(best().channels, Selection(labels, 0), (0.0, 1.0), images, run)


@pytest.mark.parametrize(("n_channels", "step"), [(1, 12), (2, 8)])
def test_deskewing_is_compared_by_the_channel_with_a_grid(run, n_channels, step):
    """Its patches are closer; without such a channel, by the first one."""
    images, y, steps = np.zeros((12, 40, 40), np.uint8), np.arange(12) % 2, set()
    for n, image in enumerate(images):
        for row in range(8, 32):
            image[row, 12 + row * (n % 3) // 4 : 18 + row * (n % 3) // 4] = 255

    class Recording:
        """The run, which notes the steps of descriptors."""

        def __getattr__(self, name):
            return getattr(run, name)

        def map(self, name, function, calls, *more):
            steps.update(call[0].channels[0].descriptor.step for call in calls)
            return run.map(name, function, calls, *more)

    choose_deskew("auto", Selection(y, 0), best().channels[:n_channels], (0.0, 1.0), images, Recording())
    assert steps == {step}
