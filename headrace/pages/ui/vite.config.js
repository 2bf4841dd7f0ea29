// Builds the scripts into ../static/, beside the styles; the service reads them from there.
export default {
  build: {
    outDir: "../static",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    rollupOptions: {
      input: { pages: "src/pages.ts" },
      output: { entryFileNames: "[name].js", chunkFileNames: "[name].js" },
    },
  },
};
