"""Settings of the site, from the environment alone; what is not set gets a default that is safe on loopback.

| variable | default |
|---|---|
| SIGNALBOX_DATA | data/ beside manage.py |
| SIGNALBOX_CONSOLE_KEY | the file console/secret.key below the data root |
| DATABASE_URL | SQLite (WAL) below the data root |
| REDIS_URL | the embedded server's socket below the data root |
| SIGNALBOX_PAGES | build/frontend beside manage.py: the built pages |
| SIGNALBOX_HOSTS | 127.0.0.1,localhost,[::1]: names that the console may be asked by |
| SIGNALBOX_TLS | no: set to yes behind TLS for secure cookies and HSTS |
| SIGNALBOX_TRUSTED_PROXIES | nobody: addresses and networks (CIDR, by commas) whose X-Forwarded-* count |
| SIGNALBOX_DIAL | networks (CIDR, by commas) that may be dialled besides registered clusters' brokers |
| SIGNALBOX_MAIL | an smtp:// address for alerts by mail; without it mail is refused, not swallowed |
| SIGNALBOX_STORES | folders and addresses (by commas) below which stores of attached clusters may be read |
| SIGNALBOX_REPORT_DAYS, SIGNALBOX_REPORT_ROW_DAYS | 30: files of a report's run; 60: its row, after that |
| SIGNALBOX_REPORT_JOBS | spark/jobs beside manage.py: the programs that spark-submit runs |
| SPARK_MASTER, SIGNALBOX_SPARK_MEMORY_MB | local[*]; 3072: of all processes of a run on this host together |
| SIGNALBOX_SPARK_NICE | 10: how far Spark stands back behind the brokers of its host |
"""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url

from console.data_root import FRONTEND, REPOSITORY, data_root
from console.keys import read_keys
from console.trusted_proxies import parse_networks

DATA_ROOT = data_root()
SECRET_KEY, *SECRET_KEY_FALLBACKS = read_keys(DATA_ROOT.key_file, os.environ)

DEBUG = False
IS_TLS = os.environ.get("SIGNALBOX_TLS", "no").lower() == "yes"
TRUSTED_PROXIES = parse_networks(os.environ.get("SIGNALBOX_TRUSTED_PROXIES", ""))
ALLOWED_HOSTS = os.environ.get("SIGNALBOX_HOSTS", "127.0.0.1,localhost,[::1]").split(",")
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "console.core",
    "clusters",
    "reports",
    "console",
]
MIDDLEWARE = [
    "console.metrics.requests.CountRequests",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "console.content_policy.ContentPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

# -- database and Redis -------------------------------------------------------------------------------------

_SQLITE = f"sqlite:///{DATA_ROOT.database}"
_SQLITE_OPTIONS = {
    # IMMEDIATE: a transaction that will write says so at once, instead of failing when it finds out.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
}
DATABASES = {
    "default": dj_database_url.parse(
        os.environ.get("DATABASE_URL") or _SQLITE, conn_max_age=60, conn_health_checks=True
    )
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = _SQLITE_OPTIONS
    # A file: threads and processes of a test share it.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_ROOT.console / "test.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = os.environ.get("REDIS_URL") or f"unix://{DATA_ROOT.redis_socket}"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "signalbox"},
    }
}
# A Redis that hangs is treated as one that is away.
REDIS_LIMITS = {"socket_connect_timeout": 3, "socket_timeout": 3}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": REDIS_LIMITS,
    }
}

# -- Celery: a wake-up channel only; state, leases and resumption are rows of the database ------------------

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_TRANSPORT_OPTIONS = REDIS_LIMITS
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "control"
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"

# -- people, sessions, browsers -----------------------------------------------------------------------------

AUTH_USER_MODEL = "core.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = IS_TLS
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = IS_TLS
SECURE_HSTS_SECONDS = 31_536_000 if IS_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_TLS
SECURE_HSTS_PRELOAD = IS_TLS
# Whether a request came over TLS is decided before Django (console/trusted_proxies.py), not by a header here.
SECURE_SSL_REDIRECT = IS_TLS
# `up`, containers and monitoring ask these on the console's own port, which speaks no TLS.
SECURE_REDIRECT_EXEMPT = ["^(healthz|readyz|metrics)$"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

# -- REST ---------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "console.core.tokens.TokenAuthentication",
        "console.core.sessions.ConsoleSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["console.core.needs.HasRole"],
    "DEFAULT_RENDERER_CLASSES": ["console.core.rendering.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["console.core.parsing.JsonParser"],
    "DEFAULT_PAGINATION_CLASS": "console.core.paging.Pages",
    "DEFAULT_SCHEMA_CLASS": "console.schema.MethodSchema",
    "EXCEPTION_HANDLER": "console.core.problem_answers.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "DEFAULT_VERSIONING_CLASS": None,
    # ?format= is a filter's name to us (exports).
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Signalbox",
    "DESCRIPTION": "Clusters, topics, groups, messages and access control of RocketMQ-compatible brokers.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_NAME_OVERRIDES": {
        "AclRuleCodeEnum": ["entry", "no_entry", "guarded"],
        "AclUserKindEnum": "clusters.models.acl.AclUser.Kind",
        "AclVerdictCodeEnum": [
            *("entry", "no_entry", "guarded", "no_user", "disabled", "super_user", "silent"),
        ],
        "AlertChannelKindEnum": "clusters.models.alerts.AlertChannel.Kind",
        "AlertDeliveryStateEnum": "clusters.models.alerts.AlertDelivery.State",
        "AlertRuleKindEnum": "clusters.models.alerts.AlertRule.Kind",
        "AlertStateEnum": "clusters.models.alerts.Alert.State",
        "ClusterKindEnum": "clusters.models.clusters.Cluster.Kind",
        "DiagnosisStateEnum": "clusters.selectors.diagnosis.STATES",
        "ReportRunStateEnum": "reports.models.runs.ReportRun.State",
        "RoleEnum": ["viewer", "operator", "admin"],
        "MessageBodyKindEnum": ["json", "text", "binary", "damaged", "masked"],
        "MessageTraceKindEnum": ["send", "store", "transaction", "wait", "try"],
        "OffsetResetStateEnum": "clusters.models.resets.OffsetReset.State",
        "OperationStateEnum": "clusters.models.operations.Operation.State",
        "RedriveOutcomeStateEnum": "clusters.models.redrives.RedriveOutcome.State",
        "RedriveStateEnum": "clusters.models.redrives.Redrive.State",
        "SearchJobStateEnum": "clusters.models.searches.SearchJob.State",
        "TopicKindEnum": "clusters.models.live.LiveTopic.Kind",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "console.schema.add_problems",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# -- pages, languages, time ---------------------------------------------------------------------------------

STATIC_URL = "/static/"
# From where packages and our own build keep them: nothing has to be collected before the first start.
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
# Vite puts a hash of the content into these names.
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/console/assets/.+-[\w-]{8}\.\w+$"
STATICFILES_DIRS = [("console", FRONTEND)] if FRONTEND.is_dir() else []
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

# -- reports ------------------------------------------------------------------------------------------------

REPORT_JOBS = Path(os.environ.get("SIGNALBOX_REPORT_JOBS") or REPOSITORY / "spark" / "jobs")
REPORT_STORES = [part for part in os.environ.get("SIGNALBOX_STORES", "").split(",") if part]
REPORT_KEEP_DAYS = int(os.environ.get("SIGNALBOX_REPORT_DAYS") or 30)
REPORT_ROW_DAYS = int(os.environ.get("SIGNALBOX_REPORT_ROW_DAYS") or 60)
SPARK_MASTER = os.environ.get("SPARK_MASTER") or "local[*]"
SPARK_MEMORY_MB = int(os.environ.get("SIGNALBOX_SPARK_MEMORY_MB") or 3072)
SPARK_NICE = int(os.environ.get("SIGNALBOX_SPARK_NICE") or 10)

# -- what the console may dial, and mail --------------------------------------------------------------------

DIAL_NETWORKS = [part for part in os.environ.get("SIGNALBOX_DIAL", "").split(",") if part]
MAIL_URL = os.environ.get("SIGNALBOX_MAIL", "")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "console.log_lines.LineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("SIGNALBOX_LOG_LEVEL", "INFO")},
}
