import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { owners } from '@penstock/runtime/owners.ts'
import { test } from 'vitest'
import { ROLES } from './launcher/roles.ts'
import { parts } from './parts.ts'

test('every process with facts and tables has one part, and appends to no log but its own', () => {
  assert.deepEqual(
    parts()
      .map(({ service }) => service)
      .toSorted(),
    [...ROLES].toSorted(),
  )
  for (const { service, reads, appends } of parts()) assert.ok(!appends || reads.includes(service))
  assert.deepEqual(
    parts()
      .filter(({ appends }) => !appends)
      .map(({ service }) => service),
    ['gateway', 'audit'],
  )
})

test('a part reads what its service follows and no more', () => {
  const reads = (name: string) => parts().find(({ service }) => service === name)?.reads
  assert.deepEqual(reads('settlement')?.toSorted(), ['channel-watcher', 'settlement'])
  assert.deepEqual(reads('accounts')?.toSorted(), ['accounts', 'order'])
})

const services = join(import.meta.dirname, '..', '..')
/** `ask(order, …)` by a contract that is imported, perhaps by another name, and `tell<…>('order', …)` by its category. */
function commandedIn(service: string): readonly string[] {
  const files = globSync(`${service}/src/**/*.ts`, { cwd: services }).filter((file) => !/\.(test|contract)\.ts$/.test(file))
  const categories = files.flatMap((file) => {
    const text = readFileSync(join(services, file), 'utf8')
    const imported = new Map(
      [...text.matchAll(/import \{([^}]*)\} from '@penstock\/contracts\//g)]
        .flatMap(([, names = '']) => names.split(','))
        .map((name) => name.trim().split(' as '))
        .map(([name = '', local = name]) => [local, NAMED[name] ?? name] as const),
    )
    const asked = [...text.matchAll(/\bask\(\s*(\w+),/g)].flatMap(([, name = '']) => imported.get(name) ?? [])
    const told = [...text.matchAll(/\btell<\w+>\(\s*'(\w+)'/g)].map(([, category = '']) => category)
    return [...asked, ...told]
  })
  const found = categories.flatMap((category) => owners.get(category) ?? [])
  return [...new Set(found)].filter((owner) => owner !== service).toSorted()
}
const NAMED: Readonly<Record<string, string>> = { emailClaim: 'email', nodeClaim: 'nodeclaim', outpointClaim: 'outpoint' }

test('a part commands what its service commands and no more', () => {
  for (const { service, commands } of parts())
    if (service !== 'audit') assert.deepEqual([service, commands.toSorted()], [service, commandedIn(service)])
})
