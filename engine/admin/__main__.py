import sys

from engine.admin.main import main

sys.exit(main())
