ARG DEBIAN
FROM ${DEBIAN}
# Redis has the same options.
RUN ln -s /usr/bin/redis-server /usr/local/bin/valkey-server
CMD ["valkey-server"]
