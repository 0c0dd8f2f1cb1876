import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { contracts } from '@penstock/contracts/contracts.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import type { Fact } from '@penstock/kernel/message.ts'

/**
 * Checks that a store could hold the facts of a test. They must have the shape and version of their contract, and must not
 * change when they are written as JSON and read again. The contract must declare that the command may record the decided facts.
 * The contract is the contract that has the command. A decider that a test invents has no contract and is not checked.
 */
export function assertStorable(commandType: string, history: readonly Fact[], decided: readonly Fact[]): void {
  const candidates = contracts.filter(({ commands }) => commands[commandType])
  const faults = candidates.map((contract) => [
    ...[...history, ...decided].flatMap((fact) => faultsOf(contract, fact)),
    ...decided.flatMap(({ type }) =>
      contract.records[commandType]?.includes(type)
        ? []
        : [`${contract.category} does not declare that ${commandType} records ${type}`],
    ),
  ])
  // Two contracts may have a command of this name. The test means the contract with the fewest faults.
  const [fewest = []] = faults.toSorted((a, b) => a.length - b.length)
  assert.deepEqual(fewest, [], `facts that no store could hold:\n${fewest.join('\n')}`)
}

function faultsOf({ category, facts }: Contract, { type, v, data }: Fact): readonly string[] {
  const shape = facts[type]
  if (!shape) return [`${category} has no fact ${type}`]
  if (v !== shape.v) return [`${type} v${v} is written, the contract has v${shape.v}`]
  const stored: unknown = JSON.parse(
    JSON.stringify(data, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
  )
  const parsed = shape.schema.safeParse(stored)
  const wrong = parsed.error?.issues.map(({ path, message }) => `${type} ${path.join('.')}: ${message}`) ?? []
  if (!isDeepStrictEqual(stored, data))
    return [...wrong, `${type} changes when it is written as JSON: it has undefined, a bigint or a Map`]
  return isDeepStrictEqual(parsed.data ?? data, data)
    ? wrong
    : [...wrong, `${type} changes when its contract parses it, for instance by a default`]
}
