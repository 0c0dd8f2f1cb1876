import { contracts } from '@penstock/contracts/contracts.ts'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ServicePort } from '@penstock/runtime/manifest.ts'
import { serviceNames, services, streamServices } from './registry.ts'

const folder = join(import.meta.dirname, '..', '..')
const listFolders = (pattern: string) => globSync(pattern, { cwd: folder }).map((path) => path.slice(0, path.search(/[\\/]/)))

test('the registry has every manifest, under the name of its folder and of its service', () => {
  expect(listFolders('*/src/manifest.ts').toSorted()).toEqual([...serviceNames].toSorted())
  expect(listFolders('*/src/main.ts')).toEqual(expect.arrayContaining([...serviceNames]))
  expect(streamServices.map(({ create }) => create().name)).toEqual(streamServices.map(({ name }) => name))
})

test('every contract is owned by a service of the registry that has its aggregate', () => {
  const owned = streamServices.flatMap(({ create }) => {
    const { name, aggregates } = create()
    return aggregates.map(({ contract }) => `${contract.category} of ${name}`)
  })
  expect(owned.toSorted()).toEqual(contracts.map(({ category, owner }) => `${category} of ${owner}`).toSorted())
})

test('the contracts name the facts that services follow in memory', () => {
  const followed = streamServices.flatMap(({ create }) => create().memoryViews.flatMap(({ from }) => from))
  const named = contracts.flatMap(({ category, isFollowedInMemory }) => (isFollowedInMemory ? category : []))
  expect(named.toSorted()).toEqual([...new Set(followed.map(({ category }) => category))].toSorted())
})

test('one service is public, and each secret key belongs to one service', () => {
  expect(services.flatMap((service) => ('isPublic' in service ? service.name : []))).toEqual(['gateway'])
  const namesWith = (port: ServicePort) =>
    services.flatMap(({ name, needs }) => (needs.some((need) => need === port) ? name : []))
  expect([namesWith('keyring'), namesWith('opener'), namesWith('sealer')]).toEqual([['settlement'], ['payments'], ['gateway']])
})
