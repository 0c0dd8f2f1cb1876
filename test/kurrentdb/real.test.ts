import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { KurrentDbContainer, type StartedKurrentDbContainer } from '@testcontainers/kurrentdb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findImageSkipReason } from '../support/container-image.ts'
import { retryUntilStoreAnswers, createNewEvent, createNewEvents, followDuringTest } from './stores.ts'
import { readServerVersion } from './version.ts'
import { createNamespacedFixture } from './store-fixture.ts'

const IMAGE = process.env['PENSTOCK_TEST_KURRENTDB_IMAGE'] ?? 'kurrentplatform/kurrentdb:25.1'
const PORT = 2113
const PULL_MS = 600_000

/** The URL of a running server, with user and TLS settings. The suite then starts no container, and its events remain there. */
const GIVEN_URL = process.env['PENSTOCK_TEST_KURRENTDB_URL'] ?? ''
/** A shell command that restarts the server of GIVEN_URL with its data. It returns when the new process has started. */
const GIVEN_RESTART = process.env['PENSTOCK_TEST_KURRENTDB_RESTART'] ?? ''

const skipReason = GIVEN_URL === '' ? await findImageSkipReason(IMAGE) : undefined
if (skipReason !== undefined)
  console.log(
    `Suites on a real KurrentDB are skipped, since there is no server and no PENSTOCK_TEST_KURRENTDB_URL. ${skipReason}`,
  )

describe.skipIf(skipReason !== undefined)('a real server', () => {
  let container: StartedKurrentDbContainer | undefined
  const url = (): string => GIVEN_URL || `kurrentdb://${container?.getHost()}:${container?.getMappedPort(PORT)}?tls=false`
  const restart = async (): Promise<unknown> => (container ? container.restart() : promisify(exec)(GIVEN_RESTART))
  beforeAll(async () => {
    if (GIVEN_URL === '') await startContainer()
    const { server, version } = await readServerVersion(url())
    console.log(`The suites on a real server run against ${version} at ${server}.`)
  }, PULL_MS)
  async function startContainer(): Promise<void> {
    // The contract suite appends 4 MB of text at once. An append of a service has only some kilobytes.
    const sizes = { KURRENTDB_MAX_APPEND_SIZE: '12000000', KURRENTDB_MAX_APPEND_EVENT_SIZE: '12000000' }
    // A random port would change at a restart.
    const port = { container: PORT, host: await findFreePort() }
    container = await new KurrentDbContainer(IMAGE).withExposedPorts(port).withEnvironment(sizes).start()
  }
  afterAll(async () => void (await container?.stop()))

  eventStoreContract('KurrentDB', async () => createNamespacedFixture(url()), { processes: true })

  it.skipIf(GIVEN_URL !== '' && GIVEN_RESTART === '')('is followed and accepts appends after a restart', async () => {
    const store = kurrentEventStore({ url: url(), timeoutMs: 2000, quietMs: 2000 })
    const category = `restart${Date.now()}`
    const stop = new AbortController()
    const { seen: received, waitForCount } = followDuringTest(store, [category])
    await store.append(`${category}-1`, 'none', createNewEvents(3))
    await waitForCount(3)
    const restarting = restart()
    const batch = [createNewEvent()]
    const after = await retryUntilStoreAnswers(() => store.append(`${category}-1`, 2, batch))
    await restarting
    expect(after).toMatchObject({ outcome: 'appended', revision: 3 })
    await waitForCount(4)
    expect(received).toEqual(await retryUntilStoreAnswers(() => store.read(`${category}-1`)))
    stop.abort()
    await store.close()
  })
})
