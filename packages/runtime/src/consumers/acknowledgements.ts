import { contractOf } from '@penstock/contracts/contracts.ts'
import type { OutcomeMessage } from '../commands/messages.ts'
import type { HandledCommands } from '../processes/handled-commands.ts'
import type { Aggregate, Event } from '../service.ts'

/** Recognises the messages which show that a command of an own stream was handled. */
export type Acknowledgements = {
  /** Whether facts of this type can result from a command that is sent until it is handled. */
  isAcknowledging(category: string, factType: string): boolean
  recordFact(event: Event): void
  /** A refused command was not handled: its sender repeats it. */
  recordOutcome(outcome: OutcomeMessage): void
}

export function createAcknowledgements<Ports>(
  aggregates: readonly Pick<Aggregate<Ports>, 'contract' | 'sentUntilHandled'>[],
  handledCommands: HandledCommands,
): Acknowledgements {
  const senders = new Map<string, Set<string>>()
  const factTypes = new Set<string>()
  for (const { contract, sentUntilHandled = [] } of aggregates)
    for (const name of sentUntilHandled) {
      const [category = '', command = ''] = name.split('.')
      senders.set(category, new Set(senders.get(category)).add(contract.category))
      for (const type of contractOf(category).records[command] ?? []) factTypes.add(`${category} ${type}`)
    }
  const recordFor = (category: string, id: string, commandId: string): void => {
    for (const sender of senders.get(category) ?? []) handledCommands.record(`${sender}-${id}`, { category, commandId })
  }
  return {
    isAcknowledging: (category, factType) => factTypes.has(`${category} ${factType}`),
    recordFact: ({ category, aggregateId, commandId }) => recordFor(category, aggregateId, commandId),
    recordOutcome({ category, aggregateId, commandId, refused }) {
      if (refused === null) recordFor(category, aggregateId, commandId)
    },
  }
}
