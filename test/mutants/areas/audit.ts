import { mutantsOf } from '../mutant.ts'

const src = 'packages/runtime/src'

export const audit = mutantsOf('audit', [
  {
    id: 'chain-hash-not-compared',
    wrong: 'The chain hash of an event is not compared: who edits the time or the cause of a fact is not found.',
    file: `${src}/audit-fold.ts`,
    text: 'if (!event.meta.endsWith(`,"chain":"${expectedChain(before.chain, event)}"}`))',
    instead: 'if (!event.meta.includes(`"chain":"`) || expectedChain(before.chain, event) === ``)',
    killers: [`${src}/audit.test.ts`],
  },
  {
    id: 'state-hash-not-compared',
    wrong: 'The state hash is not compared: code that folds a stream to something else than it once did passes the audit.',
    file: `${src}/audit-fold.ts`,
    text: `if (state !== undefined && state !== hashedAgain(aggregate, step.state, state))`,
    instead: `if (state !== undefined && hashedAgain(aggregate, step.state, state) === '')`,
    killers: [`${src}/audit-compare.test.ts`],
  },
  {
    id: 'chain-without-event-ids',
    wrong: 'The chain hash leaves the id of an event out: a command can be made to look unhandled, and is carried out again.',
    file: `${src}/event-codec.ts`,
    text: '\\n${event.id}\\n${event.type}',
    instead: '\\n${event.type}',
    killers: [`${src}/audit.test.ts`],
  },
  {
    id: 'ledger-with-a-surplus',
    wrong: 'A posting that adds up to less than nothing passes: money that is missing is not found.',
    file: `${src}/audit-ledger.ts`,
    text: `!== 0n) unbalanced += 1`,
    instead: `> 0n) unbalanced += 1`,
    killers: [`${src}/audit.test.ts`],
  },
  {
    id: 'cut-log-unseen',
    wrong: 'Heads after the last event are not compared: who removes the end of the log makes a settled sale disappear.',
    file: `${src}/audit-compare.ts`,
    text: `      while (head) await close(head)\n`,
    instead: ``,
    killers: [`${src}/audit-compare.test.ts`],
  },
])
