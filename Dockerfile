# Two images: the operator's, which is what `docker build` makes, and the fit's, with `--target fitting`.
# docs/reference/images.md says what is in them, and what is pinned how.
#
# A lock names every dependency with its hash; nothing else is installed. The base is pinned by its tag only: give another
# one, or the same by digest, with `--build-arg PYTHON=...`. It needs `python` with venv and pip and, for the fit, apt.
ARG PYTHON=python:3.12-slim-bookworm

# What builds stays behind: nothing that is shipped has pip.
FROM ${PYTHON} AS tools
# What pip imports while it runs would leave bytecode in the environment, with the time of the build in it.
ENV PYTHONDONTWRITEBYTECODE=1
WORKDIR /src
COPY requirements/build.lock requirements/
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/build.lock

FROM tools AS wheel
COPY pyproject.toml README.md LICENSE ./
COPY operator operator
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist .

# Packages, which few versions change, and what is ours are layers of their own, in both images: a new version is a few
# megabytes to build and to pull.
#
# No bytecode: it would be another 80 MB, and saves the operator 2 s, once per start. The official Python images do the same.
FROM tools AS packages
COPY requirements/runtime.lock requirements/
RUN python -m venv --without-pip /opt/heartbeat-tuner \
 && /opt/build/bin/pip --python /opt/heartbeat-tuner/bin/python install \
      --no-cache-dir --no-compile --no-deps --require-hashes -r requirements/runtime.lock \
 && find /opt/heartbeat-tuner/lib -type d -name tests -prune -exec rm -r {} +

FROM packages AS own
COPY --from=wheel /dist /dist
RUN /opt/build/bin/pip --python /opt/heartbeat-tuner/bin/python install --root /own \
      --no-cache-dir --no-compile --no-deps --no-index /dist/*.whl

# The fit's image: the operator's command, and Spark. Spark comes as source, and is no part of the operator's image (500 MB).
# With bytecode, since each of Spark's Python processes would compile for itself; by hash, since files lose their times.
FROM tools AS packages-fitting
COPY requirements/fit.lock requirements/
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --require-hashes --no-build-isolation --wheel-dir /wheels -r requirements/fit.lock \
 && python -m venv --without-pip /opt/heartbeat-tuner \
 && /opt/build/bin/pip --python /opt/heartbeat-tuner/bin/python install --no-cache-dir --no-compile --no-deps --no-index /wheels/*.whl \
 && /opt/heartbeat-tuner/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/heartbeat-tuner/lib

FROM packages-fitting AS own-fitting
COPY --from=wheel /dist /dist
RUN /opt/build/bin/pip --python /opt/heartbeat-tuner/bin/python install --root /own \
      --no-cache-dir --no-compile --no-deps --no-index /dist/*.whl \
 && /opt/heartbeat-tuner/bin/python -m compileall -q --invalidation-mode unchecked-hash -s /own -p / /own/opt/heartbeat-tuner/lib

FROM ${PYTHON} AS fitting
COPY release/java_certificates.py /
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
 && python /java_certificates.py /etc/ssl/certs/java/cacerts && rm /java_certificates.py \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/cache/ldconfig/aux-cache /var/log/* \
 && echo 'heartbeat-tuner:x:65532:65532::/tmp:/usr/sbin/nologin' >> /etc/passwd
COPY --from=packages-fitting /opt/heartbeat-tuner /opt/heartbeat-tuner
COPY --from=own-fitting /own /
ENV PATH=/opt/heartbeat-tuner/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["heartbeat-tuner"]
CMD ["fit", "--help"]

# The operator's image has of its base what the interpreter needs, and no shell.
FROM ${PYTHON} AS root
COPY --from=packages /opt/heartbeat-tuner /opt/heartbeat-tuner
COPY release/interpreter_root.py /
RUN python /interpreter_root.py /opt/heartbeat-tuner /image

FROM scratch AS operator
COPY --from=root /image /
COPY --from=packages /opt/heartbeat-tuner /opt/heartbeat-tuner
COPY --from=own /own /
# No bytecode is written: the root file system is meant to be read-only. The Kubernetes client does not load without a HOME.
# Answers of Prometheus are large and short-lived. The C library keeps freed memory for later unless these are set: at 3,000
# policies the process then took 411 MiB instead of 346.
ENV PATH=/opt/heartbeat-tuner/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=262144 MALLOC_TRIM_THRESHOLD_=262144
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["heartbeat-tuner"]
CMD ["run", "--config", "/etc/heartbeat-tuner/config.yaml"]
