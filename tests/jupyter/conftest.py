"""The renderer is loaded, as after a kernel's first reply: no drawing depends on a test before."""

import chatmagic.render.reply_forms  # noqa: F401
