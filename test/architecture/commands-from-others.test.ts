import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contracts } from '@penstock/contracts/all.ts'
import { test } from 'vitest'

const services = join(import.meta.dirname, '../../services')
const sourcesOf = (service: string): readonly string[] =>
  globSync(`${service}/src/**/*.ts`, { cwd: services })
    .filter((file) => !/\.(test|contract)\.ts$/.test(file))
    .map((file) => readFileSync(join(services, file), 'utf8'))

/** Operators have no route to these yet. */
const WITHOUT_ROUTE = ['DisableOffer', 'EnableOffer', 'RevokeRails']
/** Order and settlement each give themselves a command of this name. */
const NAMESAKE = 'RecordPayout'

// A process that is taken over can send every command that its service sends, and none that another gives itself alone.
test.each(contracts.map((contract) => [contract.category, contract] as const))(
  'of the commands of %s its service takes from others what they send, and no more',
  (_, { owner, commands, fromOthers }) => {
    const text = readdirSync(services)
      .filter((name) => name !== owner)
      .flatMap(sourcesOf)
      .join('\n')
    const sent = Object.keys(commands).filter(
      (type) => type !== NAMESAKE && (WITHOUT_ROUTE.includes(type) || text.includes(`'${type}'`)),
    )
    assert.deepEqual(fromOthers.toSorted(), sent.toSorted())
  },
)
