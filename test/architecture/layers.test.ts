import { expect, test } from 'vitest'
import { findLayerBreaches } from './layers.ts'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { parseSource } from './source.ts'

test('packages and services import only packages of lower layers', () => expectNone(findLayerBreaches(repositorySources)))

test.each([
  ['packages/kernel/src/a.ts', '@penstock/ports/bus.ts', 'kernel may import nothing'],
  ['packages/ports/src/a.ts', '@penstock/runtime/run.ts', 'ports may import kernel'],
  ['packages/ports/src/a.ts', '../../kernel/src/money.ts', 'imported by its name'],
  ['packages/kernel/src/a.ts', '@penstock/kernel/money.ts', 'imported by ./'],
  ['packages/runtime/src/a.ts', '@penstock/adapters/sqlite/store.ts', 'packages/platforms only'],
  ['packages/runtime/src/a.ts', '@penstock/testkit/given.ts', 'testkit is for tests'],
  ['packages/novelty/src/a.ts', '@penstock/kernel/money.ts', 'no layer yet'],
  ['services/order/src/service.ts', '@penstock/platforms/embedded.ts', 'only main.ts'],
  ['services/order/src/service.ts', '@penstock/quote/quote.ts', 'never imports a service'],
])('%s must not import %s', (path, specifier, fix) => {
  expect(findLayerBreaches([parseSource(path, `\nimport { a } from '${specifier}'`)])).toEqual([
    expect.stringMatching(new RegExp(`^${path}:2 imports .*${fix}`)),
  ])
})

test.each([
  ['packages/runtime/src/a.ts', '@penstock/ports/bus.ts'],
  ['packages/runtime/src/a.test.ts', '@penstock/adapters/memory/store.ts'],
  ['packages/platforms/src/embedded.ts', '@penstock/adapters/sqlite/store.ts'],
  ['services/order/src/main.ts', '@penstock/platforms/embedded.ts'],
  ['services/standalone/src/main.ts', '@penstock/order/service.ts'],
  ['services/order/src/service.ts', 'node:crypto'],
])('%s may import %s', (path, specifier) => {
  expect(findLayerBreaches([parseSource(path, `import { a } from '${specifier}'`)])).toEqual([])
})
