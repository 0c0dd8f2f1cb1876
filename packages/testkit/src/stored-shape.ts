import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { contracts } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import type { Fact } from '@penstock/kernel/message.ts'

/**
 * Facts of a test have to be facts that a store could hold: of their contract's shape and version, and the same once
 * they were written as JSON and read again. The contract is the one that understands the command; a decider that a test
 * made up for itself has none, and is left alone.
 */
export function assertStorable(commandType: string, facts: readonly Fact[]): void {
  const understanding = contracts.filter(({ commands }) => commands[commandType])
  const faults = understanding.map((contract) => facts.flatMap((fact) => faultsOf(contract, fact)))
  // A name may be a command of two contracts; then the facts tell which one is meant.
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
    return [...wrong, `${type} is not the same once it was written as JSON: undefined, a bigint or a Map`]
  return isDeepStrictEqual(parsed.data ?? data, data)
    ? wrong
    : [...wrong, `${type} is not the same once it was parsed by its contract`]
}
