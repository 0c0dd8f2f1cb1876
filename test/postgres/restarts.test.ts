import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { superviseServer } from '@penstock/cluster/launcher/server-supervisor.ts'
import { startPostgres } from '@penstock/servers/postgres.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'

// Each test has servers of its own, because it kills or pauses them.

/** A hang is detected after 13 s: six times without an answer for 2.2 s. */
const LIMIT_MS = 120_000

test('the launcher restarts a server that received SIGTERM while a session is open', async () => {
  const server = await startPostgres()
  const logLines: string[] = []
  const supervised = superviseServer('postgres', server, (who, line) => void logLines.push(`${who}  ${line}`))
  onTestFinished(async () => {
    await supervised.stop()
    await server.stop()
  })
  const session = new pg.Client({ connectionString: server.url() })
  session.on('error', () => undefined) // the server ends the session
  await session.connect()
  await session.query('listen something')
  const before = server.pid ?? 0
  process.kill(before, 'SIGTERM')
  await waitUntil('a new server runs', () => server.pid !== undefined && server.pid !== before, LIMIT_MS)
  await waitUntil('the server creates databases', () => server.createDatabase('penstock').catch(() => undefined), LIMIT_MS)
  expect(logLines).toEqual(['postgres  ended; restarting'])
})

test('the launcher reports, kills and restarts a server that hangs', async () => {
  const server = await startPostgres()
  const logLines: string[] = []
  const fastLimits = { intervalMs: 200, answerMs: 2000, maxMissingAnswers: 6, maxMissingAnswersAtStart: 6 }
  const supervised = superviseServer('postgres', server, (who, line) => void logLines.push(`${who}  ${line}`), fastLimits)
  onTestFinished(() => supervised.stop())
  await waitUntil('the server runs', () => supervised.state === 'running', LIMIT_MS)
  const before = server.pid ?? 0
  process.kill(before, 'SIGSTOP')
  await waitUntil('the hang is detected', () => supervised.state === 'starting', LIMIT_MS)
  await waitUntil('a new server runs', () => supervised.state === 'running' && server.pid !== before, LIMIT_MS)
  await server.createDatabase('penstock')
  expect(logLines.slice(0, 2)).toEqual([
    'postgres  has not answered 6 times in a row; it hangs and is killed',
    'postgres  ended; restarting',
  ])
})

test('a start fails in time if the server rejects the password', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'penstock-refusing-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  await (await startPostgres({ dir })).stop()
  writeFileSync(join(dir, 'password'), 'another')
  await expect(startPostgres({ dir, readyWithinMs: 3000 })).rejects.toThrow(/PostgreSQL did not start/)
})

test('a stop kills a server that does not react to signals', async () => {
  const server = await startPostgres()
  process.kill(server.pid ?? 0, 'SIGSTOP')
  await server.shutDown()
  expect(server.pid).toBe(undefined)
  await server.stop()
})

test('an aborted start kills a server that hangs', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  await server.kill()
  const stop = new AbortController()
  const starting = server.start(stop.signal)
  const pid = await waitUntil('the server process exists', () => server.pid)
  process.kill(pid, 'SIGSTOP')
  stop.abort()
  await expect(starting).rejects.toThrow(/was stopped while it started/)
  expect(server.pid).toBe(undefined)
  await expect(server.start(stop.signal)).rejects.toThrow(/aborted/)
})

test('a start succeeds in a data folder whose first start was killed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'penstock-half-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'data.partial', 'base'), { recursive: true })
  writeFileSync(join(dir, 'data.partial', 'PG_VERSION'), '18\n')
  const server = await startPostgres({ dir })
  onTestFinished(() => server.stop())
  await server.createDatabase('penstock')
  expect(existsSync(join(dir, 'data.partial'))).toBe(false)
})
