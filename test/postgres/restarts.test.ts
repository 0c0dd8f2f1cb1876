import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepUp } from '@penstock/cluster/launcher/keep-up.ts'
import { startPostgres } from '@penstock/servers/postgres.ts'
import { until } from '@penstock/testkit/until.ts'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'

test('a server that somebody tells to stop is started again, although sessions stay', async () => {
  const server = await startPostgres()
  const told: string[] = []
  const keeping = keepUp('postgres', server, (line) => void told.push(line))
  onTestFinished(async () => {
    await keeping.stop()
    await server.stop()
  })
  const session = new pg.Client({ connectionString: server.url() })
  session.on('error', () => undefined) // the server ends it
  await session.connect()
  await session.query('listen something')
  const before = server.pid ?? 0
  process.kill(before, 'SIGTERM')
  await until('another one runs', () => server.pid !== undefined && server.pid !== before, 30_000)
  await until('it makes databases', () => server.createDatabase('penstock').catch(() => undefined), 30_000)
  expect(told).toEqual(['postgres  ended; it is started again'])
})

test('a folder in which the first start was killed is of use to the next', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'penstock-half-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'data.partial', 'base'), { recursive: true })
  writeFileSync(join(dir, 'data.partial', 'PG_VERSION'), '18\n')
  const server = await startPostgres({ dir })
  onTestFinished(() => server.stop())
  await server.createDatabase('penstock')
  expect(existsSync(join(dir, 'data.partial'))).toBe(false)
})
