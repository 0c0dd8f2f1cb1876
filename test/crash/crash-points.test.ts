import { expect, test } from 'vitest'
import { importsCommand } from './crash-points.ts'

test.each([
  [true, `import { commandStep } from '@penstock/kernel/process.ts'`],
  [true, `import { deadline, commandStep, type Next } from '@penstock/kernel/process.ts'`],
  [true, `import {\n  deadline,\n  commandStep,\n} from '@penstock/kernel/process.ts'`],
  [false, `import { deadline } from '@penstock/kernel/process.ts'`],
  [false, `import { commandStep } from './story.ts'\nimport { deadline } from '@penstock/kernel/process.ts'`],
  [false, `import { commandSteps } from '@penstock/kernel/process.ts'`],
])('importsCommand returns %s for the source %j', (expected, text) => {
  expect(importsCommand(text)).toBe(expected)
})
