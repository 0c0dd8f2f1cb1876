import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contracts } from '@penstock/contracts/contracts.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { test } from 'vitest'

const services = join(import.meta.dirname, '../../services')
/** The text of the gateway. The one process of standalone sends commands through its gateway. */
const gatewayText = globSync('{gateway,standalone}/src/**/*.ts', { cwd: services })
  .filter((file) => !/\.(test|contract|fixture|child)\.ts$/.test(file))
  .map((file) => readFileSync(join(services, file), 'utf8'))
  .join('\n')

/** No route sends these commands yet; the gateway will send them for operators. */
const WITHOUT_ROUTE = ['DisableOffer', 'EnableOffer', 'RevokeRails']

/** The commands that a service declares to send, as `<category>.<type>`. */
const listSentCommands = ({ aggregates, reactions, jobs }: Service<never>): readonly string[] => [
  ...aggregates.flatMap(({ follows = {} }) => Object.values(follows).flatMap((steps = []) => steps)),
  ...reactions.map(({ sends }) => sends),
  ...jobs.flatMap(({ sends = [] }) => sends),
]
const sentCommands = createStreamServices().map((service) => [service.name, listSentCommands(service)] as const)

// This limits an attacker who controls the process of one service: other services accept only that service's commands.
test.each(contracts.map((contract) => [contract.category, contract] as const))(
  'the service that owns %s accepts from each other service exactly the commands that the other service sends',
  (category, { owner, commands }) => {
    const sent = Object.keys(commands).flatMap((type) => [
      ...(gatewayText.includes(`'${type}'`) || WITHOUT_ROUTE.includes(type) ? [`${type} by gateway`] : []),
      ...sentCommands.flatMap(([sender, names]) =>
        sender !== owner && names.includes(`${category}.${type}`) ? [`${type} by ${sender}`] : [],
      ),
    ])
    const accepted = Object.entries(commands).flatMap(([type, { from = [] }]) => from.map((sender) => `${type} by ${sender}`))
    assert.deepEqual(new Set(accepted), new Set(sent))
  },
)
