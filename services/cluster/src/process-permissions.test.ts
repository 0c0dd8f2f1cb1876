import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import { loginNames, streamServices } from '@penstock/standalone/registry.ts'
import { test } from 'vitest'
import { listProcessPermissions } from './process-permissions.ts'

test('every process with facts and tables has one entry, and appends only to its own log', () => {
  assert.deepEqual(
    listProcessPermissions()
      .map(({ service }) => service)
      .toSorted(),
    [...loginNames].toSorted(),
  )
  for (const { service, readableLogs, mayAppend } of listProcessPermissions())
    assert.ok(!mayAppend || readableLogs.includes(service))
  assert.deepEqual(
    listProcessPermissions()
      .filter(({ mayAppend }) => !mayAppend)
      .map(({ service }) => service),
    ['gateway', 'audit'],
  )
})

test('a service may read only its own log and the logs of the services that it follows', () => {
  const readableLogs = (name: string) => listProcessPermissions().find(({ service }) => service === name)?.readableLogs
  assert.deepEqual(readableLogs('settlement')?.toSorted(), ['channel-watcher', 'settlement'])
  assert.deepEqual(readableLogs('accounts')?.toSorted(), ['accounts', 'order'])
  assert.deepEqual(readableLogs('payments')?.toSorted(), ['payments', 'quote'])
})

test('payments alone writes webhook deliveries, and the gateway reads their log', () => {
  const permissions = listProcessPermissions()
  assert.deepEqual(
    permissions.filter(({ ownedTablePrefixes }) => ownedTablePrefixes.includes('webhook_')).map(({ service }) => service),
    ['payments'],
  )
  assert.deepEqual(
    permissions.flatMap(({ service, readableTables }) => readableTables.map((table) => `${service} ${table}`)).toSorted(),
    ['gateway webhook_attempts', 'gateway webhook_endpoints', 'gateway webhook_events', 'payments records', 'quote last_seen'],
  )
})

test('a service follows on the bus only the services whose messages it or its previous release consumes', () => {
  const follows = new Map(listProcessPermissions().map((part) => [part.service, part.follows.toSorted()]))
  assert.deepEqual(follows.get('quote'), ['order']) // the previous release
  assert.deepEqual(follows.get('matching'), ['channel-watcher', 'matching', 'order'])
  assert.deepEqual(follows.get('settlement'), ['channel-watcher', 'settlement'])
  assert.deepEqual(follows.get('channel-watcher'), [])
  assert.deepEqual(follows.get('payments'), ['payments'])
  assert.deepEqual(follows.get('gateway'), streamServices.map(({ name }) => name).toSorted())
  assert.deepEqual(follows.get('audit'), [])
})

const services = join(import.meta.dirname, '..', '..')
/** @returns the services that the sources of `service` command, by `command<…Target>('…', …)` */
function listCommandedServices(service: string): readonly string[] {
  const files = globSync(`${service}/src/**/*.ts`, { cwd: services }).filter(
    (file) => !/\.(test|contract|fixture|child)\.ts$/.test(file),
  )
  const categories = files.flatMap((file) =>
    [...readFileSync(join(services, file), 'utf8').matchAll(/\bcommand<\w+>\(\s*'(\w+)'/g)].map(([, category = '']) => category),
  )
  const found = categories.flatMap((category) => categoryOwners.get(category) ?? [])
  return [...new Set(found)].filter((owner) => owner !== service).toSorted()
}

test('a service may command only the services that its sources command', () => {
  for (const { service, commands } of listProcessPermissions())
    if (service !== 'audit') assert.deepEqual([service, commands.toSorted()], [service, listCommandedServices(service)])
})
