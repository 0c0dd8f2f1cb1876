import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { KurrentDbContainer, type StartedKurrentDbContainer } from '@testcontainers/kurrentdb'
import { getContainerRuntimeClient } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answered, event, events, following } from './stores.ts'
import { versionOf } from './version.ts'
import { worldAmongOthers } from './world.ts'

const IMAGE = process.env['PENSTOCK_TEST_KURRENTDB_IMAGE'] ?? 'kurrentplatform/kurrentdb:25.1'
const PORT = 2113
const PULL_MS = 600_000

/** A server that runs already, with its user and its TLS; its events stay. With it no container is started. */
const GIVEN_URL = process.env['PENSTOCK_TEST_KURRENTDB_URL'] ?? ''
/** A shell command that ends that server and starts it again with its data; it returns once the process was started. */
const GIVEN_RESTART = process.env['PENSTOCK_TEST_KURRENTDB_RESTART'] ?? ''

const noDocker =
  GIVEN_URL === ''
    ? await getContainerRuntimeClient().then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
    : undefined
if (noDocker !== undefined)
  console.log(`Suites on a real KurrentDB are skipped, since there is no Docker and no PENSTOCK_TEST_KURRENTDB_URL. ${noDocker}`)

describe.skipIf(noDocker !== undefined)('a real server', () => {
  let container: StartedKurrentDbContainer | undefined
  const url = (): string => GIVEN_URL || `kurrentdb://${container?.getHost()}:${container?.getMappedPort(PORT)}?tls=false`
  const restart = async (): Promise<unknown> => (container ? container.restart() : promisify(exec)(GIVEN_RESTART))
  beforeAll(async () => {
    if (GIVEN_URL === '') await startContainer()
    const { server, version } = await versionOf(url())
    console.log(`The suites on a real server run against ${version} at ${server}.`)
  }, PULL_MS)
  async function startContainer(): Promise<void> {
    // The contract appends 4 MB of text at once; an append of a service has some kilobytes.
    const sizes = { KURRENTDB_MAX_APPEND_SIZE: '12000000', KURRENTDB_MAX_APPEND_EVENT_SIZE: '12000000' }
    // A port of the machine's choice would be another one after a restart.
    const port = { container: PORT, host: await freePort() }
    container = await new KurrentDbContainer(IMAGE).withExposedPorts(port).withEnvironment(sizes).start()
  }
  afterAll(async () => void (await container?.stop()))

  eventStoreContract('KurrentDB', async () => worldAmongOthers(url()), { processes: true })

  it.skipIf(GIVEN_URL !== '' && GIVEN_RESTART === '')('is followed and appended to through a restart', async () => {
    const store = kurrentEventStore({ url: url(), timeoutMs: 2000, quietMs: 2000 })
    const category = `restart${Date.now()}`
    const stop = new AbortController()
    const { seen, sees } = following(store, [category])
    await store.append(`${category}-1`, 'none', events(3))
    await sees(3)
    const restarting = restart()
    const batch = [event()]
    const after = await answered(() => store.append(`${category}-1`, 2, batch))
    await restarting
    expect(after).toMatchObject({ outcome: 'appended', revision: 3 })
    await sees(4)
    expect(seen).toEqual(await answered(() => store.read(`${category}-1`)))
    stop.abort()
    await store.close()
  })
})
