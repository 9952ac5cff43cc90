ARG DEBIAN
FROM ${DEBIAN}
ENV PGDATA=/var/lib/postgresql/18/docker LANG=C.UTF-8
RUN mkdir -p /var/run/postgresql && chown postgres /var/run/postgresql \
    && ln -s /usr/lib/postgresql/*/bin/pg_isready /usr/local/bin/
COPY postgres.sh /usr/local/bin/
VOLUME /var/lib/postgresql
ENTRYPOINT ["bash", "/usr/local/bin/postgres.sh"]
