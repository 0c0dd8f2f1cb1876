/** The areas of the code that have mutants. docs/mutants.md has a section for each. */
export const mutantAreas = [
  'settlement',
  'guard',
  'order',
  'matching',
  'relay',
  'projection',
  'watcher',
  'accounts',
  'payments',
  'audit',
] as const
export type MutantArea = (typeof mutantAreas)[number]

/** A small, realistic fault that replaces a text of the code, and the tests of which one has to fail. */
export type Mutant = {
  readonly id: string
  readonly area: MutantArea
  /** The wrong behaviour and, after a colon, the damage and the party that bears the damage. */
  readonly description: string
  readonly file: string
  /** The text that is replaced; the file contains it exactly once. */
  readonly text: string
  readonly replacement: string
  /** Test files of which one has to fail. Tests of golden files are not allowed, because every change makes them fail. */
  readonly killers: readonly string[]
}

type MutantOfArea = Omit<Mutant, 'area' | 'killers'> & Partial<Pick<Mutant, 'killers'>>

/** Creates the mutants of an area. Without named killers, the test file next to the mutant's file is the killer. */
export const createMutants = (area: MutantArea, mutants: readonly MutantOfArea[]): readonly Mutant[] =>
  mutants.map((mutant) => ({ killers: [findTestFile(mutant.file)], ...mutant, area }))

const findTestFile = (file: string): string => file.replace(/(\.decide)?\.ts$/, '.test.ts')

/**
 * @param source the current text of the mutant's file
 * @returns the source with the fault
 * @throws if the source does not contain the text exactly once; then the code has changed, and the mutant needs a new text
 */
export function applyMutant({ id, file, text, replacement }: Mutant, source: string): string {
  const occurrences = source.split(text).length - 1
  if (occurrences === 1) return source.replace(text, () => replacement)
  throw new Error(
    `Mutant ${id} no longer matches the code: ${file} contains its text ${occurrences} times instead of once. Adapt the mutant to the current code.`,
  )
}

/** Whether a test file compares golden files, by its name or because it contains a snapshot. */
export const isGoldenTest = (testFile: string, source: string): boolean =>
  /(^|\.|\/)golden\.test\.ts$/.test(testFile) || /\.to(Match|ThrowErrorMatching)\w*Snapshot\b/.test(source)
