/** Where a fault sits: what is to hold there is the reader's way into the table. */
export const areas = ['settlement', 'guard', 'order', 'matching', 'relay', 'projection', 'watcher', 'accounts', 'audit'] as const
export type Area = (typeof areas)[number]

/** One small fault that somebody could really make, and the tests that have to notice it. */
export type Mutant = {
  readonly id: string
  readonly area: Area
  /** What it does wrong, and what that costs whom. */
  readonly wrong: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly text: string
  readonly instead: string
  /** Test files; a golden file is none of them, since it notices every change and understands none. */
  readonly killers: readonly string[]
}

export const mutantsOf = (area: Area, mutants: readonly Omit<Mutant, 'area'>[]): readonly Mutant[] =>
  mutants.map((mutant) => ({ ...mutant, area }))

/**
 * @param source what the mutant's file has now
 * @returns the source with the fault
 * @throws where the text is not there exactly once: the code has moved on, and the mutant has to follow
 */
export function mutated({ id, file, text, instead }: Mutant, source: string): string {
  const found = source.split(text).length - 1
  if (found === 1) return source.replace(text, () => instead)
  throw new Error(
    `Mutant ${id} does not fit any more: its text is in ${file} ${found === 0 ? 'nowhere' : `${found} times`}. Write it anew for the code of today.`,
  )
}

/** By its name, or by what it does: a file with one snapshot among its tests may have noticed a mutant by that one. */
export const isGolden = (testFile: string, source: string): boolean =>
  /(^|\.|\/)golden\.test\.ts$/.test(testFile) || /\.to(Match|ThrowErrorMatching)\w*Snapshot\b/.test(source)
