import { parts } from '@penstock/cluster/parts.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, unknownSettings } from '@penstock/runtime/config.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { BUILT_WITHIN_MS, composeFile, composeMissing, oursOf, type Project, root, type Volume } from './compose.ts'

if (composeMissing !== undefined) console.log(`The check of docker-compose.yml is skipped. ${composeMissing}`)

describe.skipIf(composeMissing !== undefined)('docker-compose.yml', () => {
  const file = composeFile('docker-compose.yml', ['kurrentdb'])
  let project: Project
  beforeAll(async () => {
    if (composeMissing === undefined) project = await file.project()
  }, BUILT_WITHIN_MS)
  const ours = () => oursOf(project)

  test('is right, for docker compose itself', async () => {
    expect(await file.said()).toEqual({ stdout: '', stderr: '' })
  })

  test('the code accepts what it is given, with either event store', async () => {
    const kurrent = await file.project({ PENSTOCK_EVENT_STORE: 'kurrentdb://kurrentdb:2113?tls=false' })
    for (const either of [project, kurrent])
      for (const [, { environment = {} }] of oursOf(either)) {
        expect(unknownSettings(environment)).toEqual([])
        readConfig(environment)
      }
  })

  test('every service of ours runs a script that is there, with a read-only file system', () => {
    expect(ours()).toHaveLength(12)
    expect(ours().filter(([, service]) => service.read_only !== true)).toEqual([])
    const scripts = ours().flatMap(([, { command }]) => command?.[0] ?? [])
    expect(scripts.filter((script) => !existsSync(join(root, script)))).toEqual([])
  })

  test('ports are open on loopback only, and what has none has no way out', () => {
    const open = Object.entries(project.services).filter(([, { ports }]) => ports)
    expect(open.map(([name]) => name)).toEqual(['gateway', 'grafana'])
    expect(open.flatMap(([, { ports = [] }]) => ports).filter((port) => port.host_ip !== '127.0.0.1')).toEqual([])
    expect(project.networks['inside']?.internal).toBe(true)
    const out = Object.entries(project.services).filter(([, { networks = {} }]) => 'outside' in networks)
    expect(out.map(([name]) => name)).toEqual(['gateway', 'grafana'])
  })

  test('settlement alone has the keyring, and no password is a setting', () => {
    const having = (volume: string, how: (mount: Volume) => boolean = () => true) =>
      Object.entries(project.services)
        .filter(([, { volumes = [] }]) => volumes.some((mount) => mount.source === volume && how(mount)))
        .map(([name]) => name)
    expect(having('keyring')).toEqual(['settlement'])
    expect(having('gateway')).toEqual(['gateway'])
    expect(having('operator-token')).toEqual(['gateway', 'passwords', 'sellers'])
    expect(having('postgres-password')).toEqual(['migrate', 'passwords', 'postgres'])
    expect(having('kafka-granter')).toEqual(['migrate', 'passwords'])
    expect(having('kafka-logins')).toEqual(['kafka', 'passwords'])
    for (const { service } of parts())
      expect(having(`role-${service}`).toSorted()).toEqual(['migrate', 'passwords', service].toSorted())
    const canWrite = (mount: Volume): boolean => mount.read_only !== true
    for (const volume of ['operator-token', 'postgres-password', 'kafka-granter', 'kafka-logins', 'role-order'])
      expect(having(volume, canWrite)).toEqual(['passwords'])
    expect(JSON.stringify(project)).not.toMatch(/:\/\/[^/"]*:[^/"@]*@|PASSWORD"|TOKEN"/)
  })

  test('servers before migrations, migrations before services, services before the gateway', () => {
    const after = (condition: string) =>
      Object.entries(project.services)
        .filter(([, { depends_on: before = {} }]) => before['migrate']?.condition === condition)
        .map(([name]) => name)
    const services = ['accounts', 'channel-watcher', 'matching', 'order', 'quote', 'settlement']
    expect(after('service_completed_successfully').toSorted()).toEqual([...services, 'audit', 'gateway'].toSorted())
    expect(project.services['migrate']?.depends_on).toMatchObject({
      postgres: { condition: 'service_healthy' },
      kafka: { condition: 'service_healthy' },
    })
    expect(Object.keys(project.services['gateway']?.depends_on ?? {})).toEqual(expect.arrayContaining(services))
  })

  test('what is mounted out of the repository is there', () => {
    const binds = Object.values(project.services).flatMap(({ volumes = [] }) => volumes.filter(({ type }) => type === 'bind'))
    expect(binds.filter(({ source }) => !existsSync(source)).map(({ source }) => source)).toEqual([])
  })
})
