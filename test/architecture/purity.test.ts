import { expect, test } from 'vitest'
import { isDomain, purityBreaches } from './purity.ts'
import { expectNone } from './report.ts'
import { sources } from './repository.ts'
import { source } from './source.ts'

test('kernel, bitcoin and the domain of each service are pure', () => expectNone(purityBreaches(sources)))

test.each([
  ['services/order/src/order.ts', "import { readFile } from 'node:fs'", 'no npm package and no node:'],
  ['services/order/src/order.decide.ts', "import { z } from 'zod'", 'no npm package'],
  ['services/order/src/order.decide.ts', "const late = await import('zod')", 'no npm package'],
  ['services/order/src/order.ts', "import { order } from '@penstock/contracts/order.ts'", 'write import type'],
  ['services/order/src/order.ts', "import { type Order } from '@penstock/contracts/order.ts'", 'write import type'],
  ['services/order/src/order.ts', "import { run } from '@penstock/runtime/run.ts'", 'put I/O into effects'],
  ['services/order/src/order.ts', "import { node } from './effects.ts'", 'domain files only'],
  ['services/order/src/order.ts', "export { node } from './views/open-orders.ts'", 'domain files only'],
  ['services/order/src/order.ts', "import { createMachine } from 'xstate'", 'live in \\*.machine.ts'],
  ['packages/runtime/src/run.ts', "import { createActor } from 'xstate'", 'live in \\*.machine.ts'],
  ['packages/kernel/src/money.ts', "import { z } from 'zod'", 'kernel imports nothing'],
  ['packages/bitcoin/src/txid.ts', "import { createHash } from 'node:crypto'", 'bitcoin is pure'],
])('%s is not pure with: %s', (path, text, mend) => {
  expect(purityBreaches([source(path, text)])).toEqual([expect.stringMatching(mend)])
})

test.each([
  ['services/order/src/order.ts', "import { accept } from '@penstock/kernel/decider.ts'"],
  ['services/order/src/order.ts', "import { compile } from '@penstock/runtime/lifecycle.ts'"],
  ['services/order/src/order.ts', "import type { OrderFact } from '@penstock/contracts/order.ts'"],
  ['services/order/src/order.ts', "import { orderMachine } from './order.machine.ts'"],
  ['services/order/src/order.machine.ts', "import { createMachine } from 'xstate'"],
  ['services/order/src/effects-invoice.ts', "import { createHmac } from 'node:crypto'"],
  ['services/gateway/src/session.ts', "import { createHmac } from 'node:crypto'"],
])('%s may have: %s', (path, text) => {
  expect(purityBreaches([source(path, text)])).toEqual([])
})

test('names tell what is domain', () => {
  const names = [
    'order.ts',
    'fulfilment.ts',
    'service.ts',
    'main.ts',
    'effects.ts',
    'views-open.ts',
    'routes/show.ts',
    'order.test.ts',
  ]
  expect(names.filter((name) => isDomain(`services/order/src/${name}`))).toEqual(['order.ts', 'fulfilment.ts'])
})
