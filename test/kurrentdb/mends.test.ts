import { mended } from '@penstock/adapters/kurrentdb/mends.ts'
import { status } from '@grpc/grpc-js'
import { jsonEvent, KurrentDBClient, NO_STREAM } from '@kurrent/kurrentdb-client'
import { until } from '@penstock/ports/waiting.contract.ts'
import { expect, it } from 'vitest'
import { failure } from './double/messages.ts'
import { aServer } from './stores.ts'

/** Without the mend, the run is told of a rejection that nobody caught. */
it('a subscription at a former leader that breaks while no node can be found ends nobody', async () => {
  const former = await aServer()
  const leader = await aServer({ log: former.log })
  const hosts = `127.0.0.1:${former.endpoint.port},127.0.0.1:1`
  const client = mended(
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
  await until('it follows', async () => former.subscriptions.count() === 1)
  former.faults.leader = leader.endpoint
  await until('it appends at the leader', append)
  former.faults.leaderless = true
  leader.stop()
  expect(await append()).toBe(false)
  const searching = append()
  former.subscriptions.drop(failure(status.UNAVAILABLE, 'away'))
  expect(await searching).toBe(false)
  await until('the subscription is told', async () => broken.length > 0)
  await client.dispose()
})
