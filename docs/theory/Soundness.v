(** One theorem: every claim holds in every run, and every excluded size has no run.  docs/theory.md, "One theorem". *)

From Coq Require Import List ZArith.
Import ListNotations.
From Absint Require Import Programs Memo Analysis Invariant.

Set Implicit Arguments.

Section Soundness.
  Variables input node tag operator value : Type.
  Variables trip trips : tag.
  Variable node_eq : forall n m : node, {n = m} + {n <> m}.
  Variable D : domain input node tag value.
  Variable T : table operator D.
  Variable M : semantics operator value (binding input).
  Variable depth : node -> nat.
  Variable needed : node -> Prop.
  Variable program : block node operator.

  Notation numbers := (valuation input node tag).
  Notation outcome_is := (outcome_is M needed program).
  Notation leads := (leads M needed).
  Notation holds := (holds trip trips M needed program).

  (** Facts: declarations, then what an earlier round found. *)
  Variable allowed : binding input -> Prop.
  Definition check (A : analysis T) := verified M A depth program.

  Inductive round : facts T -> Prop :=
  | first_round F :
      about T [] F -> (forall sigma nu, allowed sigma -> extends sigma nu -> assumed T F nu) -> round F
  | next_round A F :
      round (granted A) -> check A -> about T [] F ->
      (forall sigma e nu, allowed sigma -> outcome_is sigma e -> fixed D sigma e nu ->
        assumed T (granted A) nu -> constraints trips A needed program nu -> assumed T F nu) ->
      round F.

  Lemma names_are_distinct (A : analysis T) (q : facts T -> list node -> nat -> statement node operator -> Prop)
      F before b :
    (forall F before level s, q F before level s -> checked_here A depth F before level s) ->
    everywhere M A q F before 0 b ->
    NoDup (names b) /\ (forall n, In n (names b) -> ~ In n before /\ depth n = 0).
  Proof.
    intro checks. revert F before. induction b as [| s rest IH] using block_ind; intros F before; simpl.
    - intros _. split; [constructor | contradiction].
    - intros (here & _ & later). apply checks in here. destruct here as (deep & (new & _) & _).
      destruct (IH _ _ later) as [distinct apart]. split.
      + constructor; auto. intro inside. apply apart in inside. simpl in inside. tauto.
      + intros n [<- | inside]; auto. apply apart in inside. simpl in inside. tauto.
  Qed.

  Section Outcomes.
    Variable A : analysis T.
    Variable q : facts T -> list node -> nat -> statement node operator -> Prop.
    Hypothesis checks : forall F before level s, q F before level s -> checked_here A depth F before level s.
    Hypothesis all : everywhere M A q (granted A) [] 0 program.

    Lemma main_names sigma c :
      reaches M sigma needed program c ->
      NoDup (names_of (main_of c)) /\ forall n, In n (names_of (main_of c)) -> depth n = 0.
    Proof.
      intro run. destruct (@names_are_distinct A q _ _ _ checks all) as [distinct apart].
      rewrite <- (main_graph_is_in_order run) in distinct. split.
      - rewrite <- (rev_involutive (names_of (main_of c))). apply NoDup_rev.
        remember (rev (names_of (main_of c))) as listed. clear -distinct.
        induction listed as [| n listed IH]; simpl in *; [constructor |].
        inversion_clear distinct. constructor; auto. rewrite in_app_iff in *. tauto.
      - intros n inside. apply apart. rewrite <- (main_graph_is_in_order run), in_app_iff, <- in_rev. auto.
    Qed.

    Lemma one_value sigma c n v w :
      reaches M sigma needed program c -> In (n, Some v) (main_of c) -> In (n, Some w) (main_of c) -> v = w.
    Proof.
      intros run. destruct (main_names run) as [distinct _]. unfold names_of in distinct.
      induction (main_of c) as [| [m o] e IH]; simpl; [contradiction |]. inversion_clear distinct.
      intros [one | one] [two | two]; [congruence | | | auto].
      - injection one as -> ->. contradict H. now apply (in_map fst) in two.
      - injection two as -> ->. contradict H. now apply (in_map fst) in one.
    Qed.

    Lemma main_value sigma c n v : reaches M sigma needed program c -> In (n, Some v) (main_of c) -> depth n = 0.
    Proof. intros run inside. apply (proj2 (main_names run)). now apply (in_map fst) in inside. Qed.

    Lemma point_holds sigma c c' :
      sound_table trip trips T M -> about T [] (granted A) ->
      reaches M sigma needed program c' -> (forall nu, fixed D sigma (main_of c') nu -> assumed T (granted A) nu) ->
      reaches M sigma needed program c -> incl (main_of c) (main_of c') -> holds A q sigma (main_of c') c.
    Proof. intros sound is_about run' taken run within. apply (run_holds node_eq (depth := depth));
      eauto using one_value, main_value. Qed.
  End Outcomes.

  Lemma facts_hold_in_every_round F :
    sound_table trip trips T M -> round F ->
    about T [] F /\
    forall sigma e nu, allowed sigma -> outcome_is sigma e -> fixed D sigma e nu -> assumed T F nu.
  Proof.
    intros sound is_round. induction is_round as [F is_about given | A F _ [about_A IH] checked is_about taught].
    - split; auto. intros sigma e nu is_allowed _ [extended _]. eauto.
    - split; auto. intros sigma e nu is_allowed outcome is_fixed.
      assert (held : holds A (checked_here A depth) sigma e (finished operator e)).
      { set (last := finished operator e). apply (@point_holds A _ (fun _ _ _ _ checks => checks) checked sigma last last);
          auto using incl_refl. intros nu' fixed'. eapply IH; eauto. }
      apply claims_of_an_outcome in held. destruct held as (mu & fixed' & taken & _ & satisfied).
      apply (is_about sigma e mu nu); auto.
      + intros [x | n t | t] inside; simpl in inside; try contradiction.
        destruct fixed' as [-> _], is_fixed as [-> _]. reflexivity.
      + eapply taught; eauto.
  Qed.

  (** What proofs rest on: the binding, the facts of the round, and the constraints of its nodes. *)
  Definition entailed (A : analysis T) sigma (relation : numbers -> Prop) :=
    forall nu, extends sigma nu -> assumed T (granted A) nu -> constraints trips A needed program nu -> relation nu.

  (** The theorem. The table is sound, and this analysis, which any round may have made, passed the check. Then, for
      every binding that the declarations allow:
      - at each point of a run that succeeds, in each visit of each scope, all claims hold;
      - at its end one valuation extends the binding, meets all claims of the main graph, and what is proved;
      - where proofs exclude the binding, no run succeeds. *)
  Theorem every_claim_holds_and_no_excluded_size_runs A :
    sound_table trip trips T M -> round (granted A) -> check A ->
    forall sigma, allowed sigma ->
    (forall c e, reaches M sigma needed program c -> leads sigma c (finished operator e) -> claims_hold A sigma c) /\
    (forall e (relation : numbers -> Prop), outcome_is sigma e -> entailed A sigma relation ->
      exists nu, extends sigma nu /\ covers A nu e /\ relation nu) /\
    (entailed A sigma (fun _ => False) -> forall e, ~ outcome_is sigma e).
  Proof.
    intros sound is_round checked sigma is_allowed.
    destruct (facts_hold_in_every_round sound is_round) as [is_about taken].
    assert (end_of : forall c e, reaches M sigma needed program c -> leads sigma c (finished operator e) ->
      outcome_is sigma e).
    { intros c e run onward. remember (finished operator e) as last. induction onward; subst; auto.
      apply IHonward; auto. eapply reaches_next; eauto. }
    assert (held : forall c e, reaches M sigma needed program c -> leads sigma c (finished operator e) ->
      holds A (checked_here A depth) sigma e c).
    { intros c e run onward.
      apply (@point_holds A _ (fun _ _ _ _ checks => checks) checked sigma c (finished operator e)); auto.
      - apply (end_of c e run onward).
      - intros nu is_fixed. apply (taken sigma e); auto. apply (end_of c e run onward).
      - exact (main_graph_grows_on onward). }
    assert (outcomes : forall e, outcome_is sigma e -> exists nu, extends sigma nu /\ covers A nu e /\
      assumed T (granted A) nu /\ constraints trips A needed program nu).
    { intros e outcome. assert (at_end := held _ e outcome (leads_here M needed sigma (finished operator e))).
      destruct (claims_of_an_outcome at_end) as (nu & [extended _] & known & covered & satisfied). eauto 6. }
    repeat split.
    - intros c e run onward. eapply claims_of_a_point; eauto.
    - intros e relation outcome proved. destruct (outcomes e outcome) as (nu & extended & covered & known & satisfied).
      exists nu. auto.
    - intros excluded e outcome. destruct (outcomes e outcome) as (nu & extended & _ & known & satisfied). eauto.
  Qed.

  (** Legality, by declarations alone: at sizes that are legal everywhere no operator fails, at any point of any run. *)
  Variable runs : binding input -> operator -> list value -> Prop.

  Theorem legal_sizes_do_not_fail A :
    sound_table trip trips T M -> about T [] (granted A) ->
    (forall sigma nu, allowed sigma -> extends sigma nu -> assumed T (granted A) nu) ->
    forall sigma, allowed sigma ->
    everywhere M A
      (fun F before level s => checked_here A depth F before level s /\ legal_here A runs sigma F before level s)
      (granted A) [] 0 program ->
    forall n o reads rest e K vs,
    reaches M sigma needed program (Running (Then (Op n o reads) rest), e, K) ->
    Forall2 (fun m w => In (m, Some w) e) reads vs -> runs sigma o vs.
  Proof.
    intros sound is_about given sigma is_allowed legal n o reads rest e K vs run here.
    assert (held := fun c => @point_holds A _ (fun _ _ _ _ both => proj1 both) legal sigma c c sound is_about).
    destruct (held _ run (fun nu is_fixed => given sigma nu is_allowed (proj1 is_fixed)) run (incl_refl _))
      as (nu & F & whole & first & level & _ & (is_fixed & covered & speaks) & taken & about_F & (now & _ & _) & _).
    destruct now as [_ [demand complete]].
    set (mu := fun s => nu (own n s)).
    assert (same : agree (known (names_of e)) nu mu) by (intros [x | m t | t] inside; [reflexivity .. | contradiction]).
    apply (complete mu vs).
    - apply is_fixed.
    - apply (about_F sigma (main_of (Running (Then (Op n o reads) rest), e, K)) nu mu); auto.
    - clear -here covered speaks same. induction here as [| m w reads vs inside _ IH]; simpl; constructor; auto.
      assert (visible : In m (names_of e)) by (apply (in_map fst) in inside; exact inside).
      apply (proj1 (speaks m visible) w nu mu same). now apply covered.
    - apply (demand nu); auto. apply is_fixed.
  Qed.
End Soundness.
