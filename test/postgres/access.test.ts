import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openConnectionPool } from '@penstock/adapters/postgres/pool.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useOwnPostgresServer } from './server.ts'
import { runSuccessfully } from '../support/processes.ts'

// This file has a server of its own, because it changes the server's settings for TLS.
const server = useOwnPostgresServer()
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-access-'))
})
afterAll(() => rm(folder, { recursive: true }))

const administer = async (...statements: readonly string[]): Promise<void> => {
  const client = new pg.Client({ connectionString: server().url() })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

test('the pool reads its password from a file for each connection, so the file may change while the process runs', async () => {
  const passwordFile = join(folder, 'password')
  await administer("create role service login password 'first'")
  await writeFile(passwordFile, 'first\n')
  const url = server()
    .url()
    .replace(/\/\/[^@]*@/, '//service@')
  const pool = openConnectionPool({ url, passwordFile, connections: 1 })
  const readUser = async () => (await pool.query<{ who: string }>('select current_user as who')).rows
  expect(await readUser()).toEqual([{ who: 'service' }])
  await administer(
    "alter role service password 'second'",
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'",
  )
  await expect(readUser().then(readUser)).rejects.toThrow(Fault)
  await writeFile(passwordFile, 'second\n')
  expect(await readUser()).toEqual([{ who: 'service' }])
  await pool.end()
})

test('with sslmode=verify-full, the pool connects only to a server with a certificate of the configured CA', async () => {
  const home = dirname(server().logFile)
  const [key, certificate] = [join(home, 'server.key'), join(home, 'server.crt')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const form = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  await runSuccessfully('openssl', ['req', ...form, ...names])
  const { uid, gid } = await stat(home)
  await chown(key, uid, gid)
  const url = new URL(server().url())
  url.hostname = 'localhost'
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', certificate)
  const readTlsState = async () => {
    const pool = openConnectionPool({ url: url.href, connections: 1 })
    try {
      return (await pool.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()')).rows
    } finally {
      await pool.end()
    }
  }
  await expect(readTlsState()).rejects.toThrow(Fault)
  await administer(
    `alter system set ssl_cert_file = '${certificate}'`,
    `alter system set ssl_key_file = '${key}'`,
    'alter system set ssl = on',
    'select pg_reload_conf()',
  )
  expect(await waitForValue('the server accepts TLS', () => readTlsState().catch(() => undefined))).toEqual([{ ssl: true }])
  const otherHost = new URL(url.href)
  otherHost.hostname = '127.0.0.1' // the certificate does not contain this address
  await expect(openConnectionPool({ url: otherHost.href }).query('select 1')).rejects.toThrow(Fault)
})
