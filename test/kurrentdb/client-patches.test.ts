import { patchClient } from '@penstock/adapters/kurrentdb/client-patches.ts'
import { status } from '@grpc/grpc-js'
import { jsonEvent, KurrentDBClient, NO_STREAM } from '@kurrent/kurrentdb-client'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import { expect, it } from 'vitest'
import { createServiceError } from './double/messages.ts'
import { useKurrentServer } from './stores.ts'

/** Without our patch of the client, an unhandled rejection fails the test run. */
it('a subscription to a former leader that ends while there is no leader does not crash the process', async () => {
  const former = await useKurrentServer()
  const leader = await useKurrentServer({ log: former.log })
  const hosts = `127.0.0.1:${former.endpoint.port},127.0.0.1:1`
  const client = patchClient(
    KurrentDBClient.connectionString(`kurrentdb://${hosts}?tls=false&discoveryInterval=50&maxDiscoverAttempts=10`),
  )
  const one = jsonEvent({ type: 'Happened', data: {} })
  const append = (): Promise<boolean> =>
    client.appendToStream('order-1', [one], { streamState: NO_STREAM, requiresLeader: true }).then(
      () => true,
      () => false,
    )
  const broken: unknown[] = []
  client
    .subscribeToAll()
    .on('error', (error) => broken.push(error))
    .resume()
  await waitForValue('the subscription is open', async () => former.subscriptions.count() === 1)
  former.faults.leader = leader.endpoint
  await waitForValue('the client appends at the new leader', append)
  former.faults.isLeaderless = true
  leader.stop()
  expect(await append()).toBe(false)
  const searching = append()
  former.subscriptions.drop(createServiceError(status.UNAVAILABLE, 'away'))
  expect(await searching).toBe(false)
  await waitForValue('the subscription reports an error', async () => broken.length > 0)
  await client.dispose()
})
