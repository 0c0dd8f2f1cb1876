import { execFile } from 'node:child_process'
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openPool } from '@penstock/adapters/postgres/pool.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aServer } from './server.ts'

const server = aServer()
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

test('a password comes from a file, and may change while the process runs', async () => {
  const passwordFile = join(folder, 'password')
  await administer("create role service login password 'first'")
  await writeFile(passwordFile, 'first\n')
  const url = server()
    .url()
    .replace(/\/\/[^@]*@/, '//service@')
  const pool = openPool({ url, passwordFile, connections: 1 })
  const who = async () => (await pool.query<{ who: string }>('select current_user as who')).rows
  expect(await who()).toEqual([{ who: 'service' }])
  await administer(
    "alter role service password 'second'",
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'",
  )
  await expect(who().then(who)).rejects.toThrow(Fault)
  await writeFile(passwordFile, 'second\n')
  expect(await who()).toEqual([{ who: 'service' }])
  await pool.end()
})

test('with sslmode=verify-full only a server with a certificate of that authority is talked to', async () => {
  const home = dirname(server().logFile)
  const [key, certificate] = [join(home, 'server.key'), join(home, 'server.crt')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const form = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  await promisify(execFile)('openssl', ['req', ...form, ...names])
  const { uid, gid } = await stat(home)
  await chown(key, uid, gid)
  const url = new URL(server().url())
  url.hostname = 'localhost'
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', certificate)
  const encrypted = async () => {
    const pool = openPool({ url: url.href, connections: 1 })
    try {
      return (await pool.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()')).rows
    } finally {
      await pool.end()
    }
  }
  await expect(encrypted()).rejects.toThrow(Fault)
  await administer(
    `alter system set ssl_cert_file = '${certificate}'`,
    `alter system set ssl_key_file = '${key}'`,
    'alter system set ssl = on',
    'select pg_reload_conf()',
  )
  expect(await until('the server speaks TLS', () => encrypted().catch(() => undefined))).toEqual([{ ssl: true }])
  const elsewhere = new URL(url.href)
  elsewhere.hostname = '127.0.0.1' // the certificate does not name it
  await expect(openPool({ url: elsewhere.href }).query('select 1')).rejects.toThrow(Fault)
})
