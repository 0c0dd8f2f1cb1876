import { listProcessPermissions } from '@penstock/cluster/process-permissions.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, findUnknownSettings } from '@penstock/config/config.ts'
import { streamServices } from '@penstock/standalone/registry.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  BUILD_TIMEOUT_MS,
  listBuilds,
  readComposeFile,
  composeSkipReason,
  listForeignServices,
  listOwnServices,
  type ComposeProject,
  listRestartedForever,
  COMPOSE_ROOT,
  type ComposeVolume,
  listWithoutInit,
} from './compose.ts'

/** The maximum number of database connections per process, from docs/guides/scale.md. */
const CONNECTIONS_OF_A_PROCESS = 17
const SCALED_PROCESSES = 20

if (composeSkipReason !== undefined) console.log(`The check of docker-compose.yml is skipped. ${composeSkipReason}`)

describe.skipIf(composeSkipReason !== undefined)('docker-compose.yml', () => {
  const file = readComposeFile('docker-compose.yml', ['kurrentdb'])
  let project: ComposeProject
  beforeAll(async () => {
    if (composeSkipReason === undefined) project = await file.project()
  }, BUILD_TIMEOUT_MS)
  const ours = () => listOwnServices(project)

  test('passes the check of docker compose', async () => {
    expect(await file.said()).toEqual({ stdout: '', stderr: '' })
  })

  test('the code accepts the settings, with PostgreSQL and with KurrentDB as the event store', async () => {
    const kurrent = await file.project({ PENSTOCK_EVENT_STORE: 'kurrentdb://kurrentdb:2113?tls=false' })
    for (const config of [project, kurrent])
      for (const [, { environment = {} }] of listOwnServices(config)) {
        expect(findUnknownSettings(environment)).toEqual([])
        readConfig(environment)
      }
  })

  test('every own service runs an existing script, with a read-only file system', () => {
    expect(ours()).toHaveLength(13)
    expect(ours().filter(([, service]) => service.read_only !== true)).toEqual([])
    const scripts = ours().flatMap(([, { command }]) => command?.[0] ?? [])
    expect(scripts.filter((script) => !existsSync(join(COMPOSE_ROOT, script)))).toEqual([])
  })

  test('one service builds the image, and no other service pulls it from a registry', () => {
    expect(listBuilds(project)).toEqual({ builds: ['passwords'], pulled: [] })
    const { passwords } = project.services
    expect(Object.keys(passwords?.depends_on ?? {})).toEqual([])
  })

  test('PostgreSQL has connections for all processes and for 20 further replicas', () => {
    const [, most] = /max_connections=(\d+)/.exec(project.services['postgres']?.command?.join(' ') ?? '') ?? []
    const atDatabase = ours().filter(([, { environment = {} }]) => 'PENSTOCK_POSTGRES_URL' in environment)
    expect(atDatabase.length).toBeGreaterThan(8)
    expect(Number(most)).toBeGreaterThan(CONNECTIONS_OF_A_PROCESS * (atDatabase.length + SCALED_PROCESSES))
  })

  test('no health check starts a JVM or Node, no one-shot service restarts for ever, and own services receive signals', () => {
    const checks = Object.values(project.services).flatMap(({ healthcheck }) => healthcheck?.test ?? [])
    expect(checks).toContain('pg_isready')
    expect(checks.filter((argument) => /\bnode\b|\/opt\/kafka/.test(argument))).toEqual([])
    expect([listRestartedForever(project), listWithoutInit(project)]).toEqual([[], []])
    expect(project.services['migrate']?.restart).toBe('on-failure:5')
  })

  test('servers have a memory limit, a read-only file system, and only the capabilities that their start needs', () => {
    const foreign = listForeignServices(project)
    expect(foreign).toHaveLength(6)
    const isConfined = ({ cap_drop: rights = [], security_opt: options = [], mem_limit: limit }: (typeof foreign)[number][1]) =>
      rights.includes('ALL') && options.includes('no-new-privileges:true') && Number(limit) > 0
    expect(foreign.filter(([, service]) => !isConfined(service)).map(([name]) => name)).toEqual([])
    expect(foreign.filter(([, { read_only: is }]) => is !== true).map(([name]) => name)).toEqual(['kurrentdb'])
    const added = foreign.flatMap(([name, { cap_add: rights = [] }]) => rights.map((right) => `${name} ${right}`))
    const initialCapabilities = ['CHOWN', 'DAC_READ_SEARCH', 'FOWNER', 'SETGID', 'SETUID']
    expect(added).toEqual(initialCapabilities.map((right) => `postgres ${right}`))
  })

  test('the owner of the database is not the superuser that the image creates', () => {
    const { environment = {}, volumes = [] } = project.services['postgres'] ?? {}
    expect(environment).not.toHaveProperty('POSTGRES_USER')
    expect(volumes.map(({ target }) => target)).toContain('/docker-entrypoint-initdb.d/postgres-owner.sql')
    expect(project.services['migrate']?.environment?.['PENSTOCK_POSTGRES_URL']).toMatch(/^postgres:\/\/penstock@/)
  })

  test('ports are open on loopback only, and only payments reaches the outside without a port', () => {
    const open = Object.entries(project.services).filter(([, { ports }]) => ports)
    expect(open.map(([name]) => name)).toEqual(['gateway', 'grafana'])
    expect(open.flatMap(([, { ports = [] }]) => ports).filter((port) => port.host_ip !== '127.0.0.1')).toEqual([])
    expect(project.networks['inside']?.internal).toBe(true)
    const out = Object.entries(project.services).filter(([, { networks = {} }]) => 'outside' in networks)
    expect(out.map(([name]) => name)).toEqual(['gateway', 'grafana', 'payments'])
  })

  test('only settlement mounts the keyring, and no password is a setting', () => {
    const servicesMounting = (volume: string, how: (mount: ComposeVolume) => boolean = () => true) =>
      Object.entries(project.services)
        .filter(([, { volumes = [] }]) => volumes.some((mount) => mount.source === volume && how(mount)))
        .map(([name]) => name)
    expect(servicesMounting('keyring')).toEqual(['settlement'])
    expect(servicesMounting('vault')).toEqual(['passwords', 'payments'])
    expect(servicesMounting('vault-public')).toEqual(['gateway', 'passwords'])
    expect(servicesMounting('gateway')).toEqual(['gateway'])
    expect(servicesMounting('operator-token')).toEqual(['gateway', 'passwords', 'sellers'])
    expect(servicesMounting('postgres-password')).toEqual(['migrate', 'passwords', 'postgres'])
    expect(servicesMounting('kafka-granter')).toEqual(['migrate', 'passwords'])
    expect(servicesMounting('kafka-logins')).toEqual(['kafka', 'passwords'])
    for (const { service } of listProcessPermissions())
      expect(servicesMounting(`role-${service}`).toSorted()).toEqual(['migrate', 'passwords', service].toSorted())
    const canWrite = (mount: ComposeVolume): boolean => mount.read_only !== true
    for (const volume of [
      'operator-token',
      'vault',
      'vault-public',
      'postgres-password',
      'kafka-granter',
      'kafka-logins',
      'role-order',
    ])
      expect(servicesMounting(volume, canWrite)).toEqual(['passwords'])
    expect(JSON.stringify(project)).not.toMatch(/:\/\/[^/"]*:[^/"@]*@|PASSWORD"|TOKEN"/)
  })

  test('servers start before migrations, migrations before services, and services before the gateway', () => {
    const after = (condition: string) =>
      Object.entries(project.services)
        .filter(([, { depends_on: before = {} }]) => before['migrate']?.condition === condition)
        .map(([name]) => name)
    const services = streamServices.map(({ name }) => name)
    expect(after('service_completed_successfully').toSorted()).toEqual([...services, 'audit', 'gateway'].toSorted())
    expect(project.services['migrate']?.depends_on).toMatchObject({
      postgres: { condition: 'service_healthy' },
      kafka: { condition: 'service_healthy' },
    })
    expect(Object.keys(project.services['gateway']?.depends_on ?? {})).toEqual(expect.arrayContaining(services))
  })

  test('every file of the repository that a service mounts exists', () => {
    const binds = Object.values(project.services).flatMap(({ volumes = [] }) => volumes.filter(({ type }) => type === 'bind'))
    expect(binds.filter(({ source }) => !existsSync(source)).map(({ source }) => source)).toEqual([])
  })
})
