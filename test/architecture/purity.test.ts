import { expect, test } from 'vitest'
import { isDomain, findPurityBreaches } from './purity.ts'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { parseSource } from './source.ts'

test('kernel, bitcoin and the domain of each service are pure', () => expectNone(findPurityBreaches(repositorySources)))

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
  ['packages/channel-proof/src/judge.ts', "import { z } from 'zod'", 'imports bitcoin alone'],
  ['services/order/src/order.ts', "import { a } from '@penstock/channel-proof/gather-evidence.ts'", 'put I/O into effects'],
])('%s is not pure with: %s', (path, text, fix) => {
  expect(findPurityBreaches([parseSource(path, text)])).toEqual([expect.stringMatching(fix)])
})

test.each([
  ['services/order/src/order.ts', "import { accept } from '@penstock/kernel/decider.ts'"],
  ['services/order/src/order.ts', "import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'"],
  ['services/order/src/order.ts', "import type { OrderFact } from '@penstock/contracts/order.ts'"],
  ['services/order/src/order.ts', "import { orderMachine } from './order.machine.ts'"],
  ['services/order/src/order.ts', "import { judgeChannel } from '@penstock/channel-proof/judge.ts'"],
  ['packages/channel-proof/src/judge.ts', "import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'"],
  ['services/order/src/order.machine.ts', "import { createMachine } from 'xstate'"],
  ['services/order/src/effects-invoice.ts', "import { createHmac } from 'node:crypto'"],
  ['services/gateway/src/session.ts', "import { createHmac } from 'node:crypto'"],
])('%s may contain: %s', (path, text) => {
  expect(findPurityBreaches([parseSource(path, text)])).toEqual([])
})

test('the name of a file decides whether it is a domain file', () => {
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
