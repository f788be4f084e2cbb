# One image for web, worker and migrations; `docker-compose.yml` says which is which.
FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /opt/gatepost \
 && /opt/gatepost/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements.lock

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data gatepost && install -d -o gatepost /data
COPY --from=build /opt/gatepost /opt/gatepost
COPY manage.py /app/
COPY checkpoints /app/checkpoints
COPY approvals /app/approvals
COPY workers /app/workers
COPY dashboard /app/dashboard
COPY templates /app/templates
WORKDIR /app
ENV PATH=/opt/gatepost/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 GATEPOST_DATA=/data
USER gatepost
EXPOSE 8000
CMD ["uvicorn", "dashboard.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--ws-per-message-deflate", "false"]
