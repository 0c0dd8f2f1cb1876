// Maintains samples of every fact and command in packages/contracts/golden: one file per category, one sample per line.
//   node tools/golden.ts            appends missing samples, and changes no line
//   node tools/golden.ts --check    reports samples that are missing or unreadable, and writes nothing
import { appendFileSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { contracts } from '../packages/contracts/src/contracts.ts'
import type { Contract, Versioned, Versions } from '../packages/contracts/src/define.ts'
import { readFact } from '../packages/runtime/src/commands/event-codec.ts'
import { type JsonSchema, listValueKeys, listSchemaKeys, createSample, listVariants } from './golden-samples.ts'

const folder = join(import.meta.dirname, '../packages/contracts/golden')

/** A line of a golden file. `variant` is a choice that the sample shows, or `sparse`, or empty for the full sample. */
type GoldenSample = { readonly type: string; readonly v: number; readonly variant: string; readonly data: unknown }

/** The text of each golden file, by category. */
export type GoldenFiles = ReadonlyMap<string, string>

export const readGoldenFiles = (): GoldenFiles =>
  new Map(
    globSync('*.jsonl', { cwd: folder }).map((name) => [basename(name, '.jsonl'), readFileSync(join(folder, name), 'utf8')]),
  )

const listMessages = ({ facts, commands }: Contract): Versions => ({ ...facts, ...commands })
const toJsonSchema = ({ schema }: Versioned): JsonSchema => schema.toJSONSchema() as JsonSchema // messages use only this part of JSON Schema
const nameSample = ({ type, v, variant }: Omit<GoldenSample, 'data'>): string => `${type} v${v}${variant && ` (${variant})`}`

/** @returns the samples that a category should have for its current versions */
const createExpectedSamples = (contract: Contract): readonly GoldenSample[] =>
  Object.entries(listMessages(contract)).flatMap(([type, shape]) => {
    const schema = toJsonSchema(shape)
    return listVariants(schema).map((variant) => ({
      type,
      v: shape.v,
      variant,
      get data() {
        return createSample(schema, variant)
      },
    }))
  })

const findMissingSamples = (contract: Contract, samples: readonly GoldenSample[]): readonly GoldenSample[] => {
  const present = new Set(samples.map(nameSample))
  return createExpectedSamples(contract).filter((sample) => !present.has(nameSample(sample)))
}

/** @returns the samples of a golden file; undefined for a line that is no sample */
const parseSamples = (text: string): readonly (GoldenSample | undefined)[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseSample)

function parseSample(line: string): GoldenSample | undefined {
  try {
    const { type, v, variant, data } = JSON.parse(line) as Partial<GoldenSample> // each key is checked next
    return typeof type === 'string' && typeof v === 'number' && typeof variant === 'string'
      ? { type, v, variant, data }
      : undefined
  } catch {
    return undefined
  }
}

/** Checks that the files record every shape that was ever written. @returns the faults, each with its remedy */
export function checkGoldenFiles(checkedContracts: readonly Contract[], golden: GoldenFiles): readonly string[] {
  const categories = new Set<string>(checkedContracts.map(({ category }) => category))
  const unknownCategories = [...golden.keys()].filter((category) => !categories.has(category))
  return [
    ...unknownCategories.map((category) => `${category}.jsonl belongs to no contract: give its facts back to one`),
    ...checkedContracts.flatMap((contract) => checkContract(contract, golden.get(contract.category) ?? '')),
  ]
}

function checkContract(contract: Contract, text: string): readonly string[] {
  const { category, facts, commands } = contract
  const lines = parseSamples(text)
  const samples = lines.filter((sample) => sample !== undefined)
  const names = samples.map(nameSample)
  const faults = [
    ...Object.keys(facts)
      .filter((type) => type in commands)
      .map((type) => `has a fact and a command ${type}: rename one, their samples would have one name`),
    ...lines.flatMap((sample, index) => (sample ? [] : [`line ${index + 1} is no sample: it needs type, v, variant and data`])),
    ...names.filter((name, index) => names.indexOf(name) < index).map((name) => `${name} is there twice: remove the later line`),
    ...findMissingSamples(contract, samples).map((sample) => `${nameSample(sample)} is missing: run node tools/golden.ts`),
    ...Object.keys(listMessages(contract)).flatMap((type) => checkVersions(contract, type, samples)),
    ...samples.flatMap((sample) => checkSample(contract, sample)),
  ]
  return faults.map((fault) => `${category}.jsonl: ${fault}`)
}

/** Facts are stored forever. During a rollout the bus contains commands of the current and of the previous release. */
const findOldestVersion = ({ facts }: Contract, type: string, today: number): number =>
  type in facts ? 1 : Math.max(1, today - 1)

/** Checks that old versions are present, and that the samples of the current version contain every key that it can have. */
function checkVersions(contract: Contract, type: string, samples: readonly GoldenSample[]): readonly string[] {
  const shape = listMessages(contract)[type]
  if (!shape) return []
  const listSamples = (version: number): readonly GoldenSample[] =>
    samples.filter((sample) => sample.type === type && sample.v === version)
  const oldest = findOldestVersion(contract, type, shape.v)
  const missingVersions = Array.from({ length: shape.v - oldest }, (_, index) => oldest + index).filter(
    (version) => listSamples(version).length === 0,
  )
  const tooOld = samples.filter((sample) => sample.type === type && sample.v < oldest)
  const shown = new Set(listSamples(shape.v).flatMap(({ data }) => listValueKeys(data)))
  const newKeys = shown.size === 0 ? [] : [...new Set(listSchemaKeys(toJsonSchema(shape)))].filter((key) => !shown.has(key))
  return [
    ...missingVersions.map((version) => `${type} v${version} is gone: stores or the bus may hold that version, take it back`),
    ...tooOld.map((sample) => `${nameSample(sample)} is on no bus any more: remove the line`),
    ...(newKeys.length > 0 ? [`${type} v${shape.v} gained ${newKeys.join(', ')}: ${describeRemedy(type, shape.v)}`] : []),
  ]
}

function checkSample(contract: Contract, sample: GoldenSample): readonly string[] {
  const { type, v, data } = sample
  const shape = listMessages(contract)[type]
  if (!shape)
    return [`${type} belongs to no message: facts that were once stored keep their type, so give it back to its contract`]
  try {
    const today = shape.schema.safeParse(upcastSample(contract, sample))
    if (!today.success) {
      const where = today.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')
      return [`${nameSample(sample)} cannot be read any more (${where}): ${describeRemedy(type, shape.v)}`]
    }
    const isSame = v < shape.v || isDeepStrictEqual(JSON.parse(JSON.stringify(today.data)), data)
    return isSame ? [] : [`${nameSample(sample)} changes when it is read and written: ${describeRemedy(type, shape.v)}`]
  } catch (error) {
    return [`${nameSample(sample)} cannot be read any more: ${error instanceof Error ? error.message : String(error)}`]
  }
}

/** Upcasts a sample. Commands are read like facts. @throws Bug if the version is unknown, or an upcaster is missing */
const upcastSample = (contract: Contract, { type, v, data }: GoldenSample): unknown =>
  readFact({ ...contract, facts: listMessages(contract) }, { id: '', type, data: JSON.stringify(data), meta: '' }, v).data

const describeRemedy = (type: string, version: number): string =>
  `stored messages never change. Leave the line as it is, give ${type} version ${version + 1} with upcast[${version}] ` +
  `in packages/contracts/src, and run node tools/golden.ts`

if (import.meta.main) {
  if (!process.argv.includes('--check')) {
    const golden = readGoldenFiles()
    for (const contract of contracts) {
      const samples = parseSamples(golden.get(contract.category) ?? '').filter((sample) => sample !== undefined)
      for (const { type, v, variant, data } of findMissingSamples(contract, samples)) {
        appendFileSync(join(folder, `${contract.category}.jsonl`), `${JSON.stringify({ type, v, variant, data })}\n`)
        console.log(`${contract.category}.jsonl: ${nameSample({ type, v, variant })}`)
      }
    }
  }
  const faults = checkGoldenFiles(contracts, readGoldenFiles())
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
