import type { ProgramName } from './programs.ts'

/** A part of `npm run proof`: campaigns, and the test files of a part of tools/parts.ts. */
export type ProofPart = {
  readonly name: string
  readonly about: string
  readonly programs?: readonly ProgramName[]
  /** The programs of the part, with their options. A short run omits a program without `short`. Each ends with a line of counts. */
  readonly runs: readonly { readonly script: string; readonly full: readonly string[]; readonly short?: readonly string[] }[]
}

const campaign = (script: string, full: readonly string[], short?: readonly string[]): ProofPart['runs'][number] => ({
  script,
  full,
  ...(short && { short }),
})
export const TEST_RUNNER = 'tools/test.ts'
/** Test files of the part with this name in tools/parts.ts. Long ones read `PENSTOCK_PROOF_SHORT` themselves. */
const tests = (part: string): ProofPart['runs'][number] => ({
  script: TEST_RUNNER,
  full: ['proof', part],
  short: ['proof', part],
})

export const proofParts: readonly ProofPart[] = [
  {
    name: 'simulation',
    about: 'random seeds of the deterministic simulation',
    runs: [campaign('test/simulation/main.ts', ['--seeds', '2000'], ['--seeds', '150'])],
  },
  {
    name: 'faults',
    about: 'a market in one process with kill -9, bad sellers and re-organisations',
    runs: [campaign('test/chaos/main.ts', ['--rounds', '50'], ['--rounds', '8']), tests('faults')],
  },
  {
    name: 'faults-cluster',
    about: 'a cluster whose services and servers are killed and frozen',
    programs: ['kafka'],
    runs: [campaign('test/chaos/cluster/main.ts', ['--rounds', '20'], ['--rounds', '1'])],
  },
  {
    name: 'faults-lightning',
    about: 'a market on real lnd nodes with kills and re-organisations',
    programs: ['lightning'],
    runs: [campaign('test/chaos/lightning/main.ts', ['--rounds', '20'], ['--rounds', '3'])],
  },
  { name: 'crash', about: 'a market is killed at every crash point, and recovers', runs: [tests('crash')] },
  {
    name: 'hostile',
    about: 'malformed, slow and hostile requests',
    programs: ['schemathesis'],
    runs: [campaign('test/fuzz/main.ts', ['--runs', '50000'], ['--runs', '2000']), tests('hostile')],
  },
  {
    name: 'mutants',
    about: 'the tests notice planted mistakes',
    runs: [campaign('test/mutants/main.ts', [], ['--area', 'guard']), tests('mutant-runner')],
  },
  {
    name: 'model',
    about: 'TLC checks the model of the money protocol',
    programs: ['tlc'],
    runs: [campaign('test/model/main.ts', []), tests('model')],
  },
  { name: 'rollouts', about: 'a cluster is updated while it sells', programs: ['kafka'], runs: [tests('rollouts')] },
  { name: 'outages', about: 'servers of a cluster are away', programs: ['kafka'], runs: [tests('outages')] },
  { name: 'load', about: 'the load generator and its report', programs: ['chromium'], runs: [tests('load')] },
  { name: 'audits', about: 'audits of a large store', runs: [tests('audits')] },
]
