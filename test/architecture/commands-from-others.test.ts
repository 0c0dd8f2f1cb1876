import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contracts } from '@penstock/contracts/contracts.ts'
import { test } from 'vitest'

const services = join(import.meta.dirname, '../../services')
const readText = (service: string): string =>
  globSync(`${service}/src/**/*.ts`, { cwd: services })
    .filter((file) => !/\.(test|contract|fixture|child)\.ts$/.test(file))
    .map((file) => readFileSync(join(services, file), 'utf8'))
    .join('\n')
/** The text of each service; standalone counts as gateway, since its one process sends commands through its gateway. */
const texts = readdirSync(services).map((service) => [service === 'standalone' ? 'gateway' : service, readText(service)] as const)

/** No route sends these commands yet; the gateway will send them for operators. */
const WITHOUT_ROUTE = ['DisableOffer', 'EnableOffer', 'RevokeRails']
/** Order and settlement each define a command with this name, and each sends only its own. */
const NAMESAKE = 'RecordPayout'

// This limits an attacker who controls the process of one service: other services accept only that service's commands.
test.each(contracts.map((contract) => [contract.category, contract] as const))(
  'the service that owns %s accepts from each other service exactly the commands that the other service sends',
  (_, { owner, commands }) => {
    const sent = texts.flatMap(([sender, text]) => {
      const isSent = (type: string): boolean =>
        text.includes(`'${type}'`) || (sender === 'gateway' && WITHOUT_ROUTE.includes(type))
      const types = Object.keys(commands).filter((type) => type !== NAMESAKE && isSent(type))
      return sender === owner ? [] : types.map((type) => `${type} by ${sender}`)
    })
    const accepted = Object.entries(commands).flatMap(([type, { from = [] }]) => from.map((sender) => `${type} by ${sender}`))
    assert.deepEqual(new Set(accepted), new Set(sent))
  },
)
