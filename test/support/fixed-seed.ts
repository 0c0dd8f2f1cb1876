import fc from 'fast-check'

/** Property tests of the fast layer draw the same values in every run. `npm run simulate` and the campaigns draw others. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_129 })
