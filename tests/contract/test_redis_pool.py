"""The connections to one Redis server."""

from kurz.cache.pool import Pool

PATIENT = 30.0  # seconds


async def test_nobody_waits_for_the_end_of_a_returned_connection(redis_url):
    pool = Pool.from_url(redis_url, socket_connect_timeout=PATIENT)
    connection = await pool.get_connection()  # type: ignore[no-untyped-call]
    connection.mark_for_reconnect()
    connection.socket_connect_timeout = 0  # redis-py also limits the time of closing by it
    await pool.release(connection)
    assert not connection.is_connected
    connection.socket_connect_timeout = PATIENT
    assert await pool.get_connection() is connection  # type: ignore[no-untyped-call]
    assert connection.is_connected
    await pool.disconnect()
