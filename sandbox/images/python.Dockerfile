# The base that the project's Dockerfile asks for, as far as it needs it: Debian's Python as `python`.
FROM scratch
ADD root.tar /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["python"]
