import { defineContract, v1 } from '@penstock/contracts/define.ts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { assertCommandsAnswered } from './projections.ts'

const shape = v1(z.strictObject({}))
const locker = defineContract('locker', 'lockers', {
  facts: { LockerRented: shape },
  commands: { CleanLocker: shape, RentLocker: { ...shape, from: ['gateway'] } },
  records: { CleanLocker: [], RentLocker: ['LockerRented'] },
})
const key = defineContract('key', 'lockers', {
  facts: { KeyCut: shape },
  commands: { CutKey: { ...shape, from: ['order'] } },
  records: { CutKey: ['KeyCut'] },
})

test('a contract whose facts no projection follows is refused if the gateway commands it', () => {
  expect(() => assertCommandsAnswered([key, locker], [{ from: [key] }])).toThrow(
    'The gateway sends RentLocker to "locker" streams, and none of its projections follows their facts.',
  )
})

test('a contract that the gateway does not command needs no projection', () => {
  expect(() => assertCommandsAnswered([key, locker], [{ from: [] }, { from: [locker] }])).not.toThrow()
})
