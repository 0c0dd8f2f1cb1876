import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKafkaServer } from '@penstock/cluster/launcher/servers.ts'
import { StartTimeoutError } from '@penstock/servers/kafka-node.ts'
import { startKafka } from '@penstock/servers/kafka.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, onTestFinished, test } from 'vitest'
import { isKafkaMissing } from './servers.ts'

// Each test has a broker of its own, because it pauses or kills it.

/** A hang is detected after 13 s: six times without an answer for 2.2 s. */
const LIMIT_MS = 120_000

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'penstock-kafka-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

test.skipIf(isKafkaMissing)('the launcher reports, kills and restarts a broker that hangs', async () => {
  const logins = { granter: { user: 'penstock', password: 'secret' }, users: new Map() }
  const output: string[] = []
  const stop = new AbortController()
  const fastLimits = { intervalMs: 200, answerMs: 2000, maxMissingAnswers: 6, maxMissingAnswersAtStart: 6 }
  const { server } = await startKafkaServer(
    await folder(),
    logins,
    (who, line) => void output.push(`${who}  ${line}`),
    stop.signal,
    fastLimits,
  )
  onTestFinished(() => server.stop())
  expect(await server.answers()).toBe(true)
  const before = server.pid ?? 0
  process.kill(before, 'SIGSTOP')
  await waitUntil('the broker is in the state starting', () => server.state === 'starting', LIMIT_MS)
  await waitUntil('a new broker process runs', () => server.state === 'running' && server.pid !== before, LIMIT_MS, 50)
  expect(await server.answers()).toBe(true)
  expect(output).toEqual(['kafka  has not answered 6 times in a row; it hangs and is killed', 'kafka  ended; restarting'])
})

test.skipIf(isKafkaMissing)('a broker that is not ready in time is killed, and starts with a longer timeout', async () => {
  const dir = await folder()
  await expect(startKafka({ dir, readyWithinMs: 1 })).rejects.toThrow(StartTimeoutError)
  // With a longer timeout, the same broker starts.
  const servers = await startKafka({ dir, readyWithinMs: 60_000 })
  onTestFinished(() => servers.stop())
  const [node] = servers.nodes
  process.kill(node?.pid ?? 0, 'SIGSTOP')
  // A paused process does not react to SIGTERM, so `shutDown` has to send SIGKILL.
  await node?.shutDown()
  expect(node?.pid).toBe(undefined)
})

test.skipIf(isKafkaMissing)('an aborted start kills a broker that hangs', async () => {
  const servers = await startKafka({ dir: await folder() })
  onTestFinished(() => servers.stop())
  const [node] = servers.nodes
  if (!node) throw new Error('no node')
  await node.kill()
  const stop = new AbortController()
  const starting = node.start(stop.signal)
  const pid = await waitUntil('the broker process exists', () => node.pid)
  process.kill(pid, 'SIGSTOP')
  stop.abort()
  await expect(starting).rejects.toThrow(/ended \(SIGKILL\)/)
  expect(node.pid).toBe(undefined)
  await expect(node.start(stop.signal)).rejects.toThrow(/aborted/)
  expect(node.pid).toBe(undefined)
})
