# Two images: the operator's, which is what `docker build` makes, and the fit's, with `--target fitting`. A lock names every
# dependency with its hash; nothing else is installed.
ARG PYTHON=python:3.12-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /src
COPY requirements/runtime.lock requirements/build.lock requirements/
RUN python -m venv /opt/heartbeat-tuner \
 && /opt/heartbeat-tuner/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY operator operator
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/heartbeat-tuner/bin/pip install --no-cache-dir --no-deps --no-index /dist/*.whl

# The fit's image: the operator's command, and Spark. Spark comes as source, and is no part of the operator's image (500 MB).
FROM ${PYTHON} AS build-fitting
WORKDIR /src
COPY requirements/fit.lock requirements/build.lock requirements/
RUN python -m venv /opt/heartbeat-tuner \
 && /opt/heartbeat-tuner/bin/pip install --no-cache-dir --require-hashes -r requirements/build.lock \
 && /opt/heartbeat-tuner/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r requirements/fit.lock
COPY --from=build /dist /dist
RUN /opt/heartbeat-tuner/bin/pip install --no-cache-dir --no-deps --no-index /dist/*.whl

FROM ${PYTHON} AS fitting
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/* \
 && echo 'heartbeat-tuner:x:65532:65532::/tmp:/usr/sbin/nologin' >> /etc/passwd
COPY --from=build-fitting /opt/heartbeat-tuner /opt/heartbeat-tuner
ENV PATH=/opt/heartbeat-tuner/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["heartbeat-tuner"]
CMD ["fit", "--help"]

FROM ${PYTHON} AS operator
COPY --from=build /opt/heartbeat-tuner /opt/heartbeat-tuner
# No bytecode is written: the root file system is meant to be read-only.
ENV PATH=/opt/heartbeat-tuner/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["heartbeat-tuner"]
CMD ["run", "--config", "/etc/heartbeat-tuner/config.yaml"]
