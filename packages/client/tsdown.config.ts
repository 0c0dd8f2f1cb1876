import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: 'src/index.ts',
  format: ['esm', 'cjs'],
  platform: 'neutral',
  target: ['node18', 'es2022'],
  fixedExtension: false,
  sourcemap: true,
  // Every exported name has its type in the source, so a declaration needs no compiler.
  dts: { generator: 'oxc', sourcemap: true },
})
